import type { JsonObject, Json } from '../base/json.ts'
import type { AgentResult } from '../event/agent.ts'
import { addUsage, noUsage, type Usage } from '../event/message.ts'

/** What answered a task, and what it took; null cost: the price is not known. */
export interface Spent {
  /** Empty when no model was asked. */
  readonly model: string
  readonly usage: Usage
  readonly costUsd: number | null
}

/** The answer of one task, before its `post_task` agents. Plain JSON. */
export interface TaskAnswer {
  /** Without the change blocks that were carried out. */
  readonly text: string
  /** `ai_response` of `post_task` agents. */
  readonly response: JsonObject
  /** The changes that were carried out or refused: `file_changes` of `post_task` agents. */
  readonly fileChanges: readonly JsonObject[]
  /** The parsed answer of a file with `[output]`. */
  readonly value?: Json
  readonly spent: Spent
}

export const nothingSpent: Spent = { model: '', usage: noUsage, costUsd: 0 }

/** Adds one more call; a call without a price makes the sum unknown. */
export function addSpent(spent: Spent, { model, usage, costUsd = 0 }: AgentResult): Spent {
  const cost = spent.costUsd === null || costUsd === null ? null : spent.costUsd + costUsd
  return { model: model?.name ?? spent.model, usage: addUsage(spent.usage, usage), costUsd: cost }
}

/** `ai_response` of `post_task` agents (DESIGN 5). */
export function responseOf(text: string, { model, usage, costUsd }: Spent): JsonObject {
  const { input, output, cached, reasoning } = usage
  return {
    content: text,
    ...(model === '' ? {} : { model_name: model }),
    usage: { prompt_tokens: input, completion_tokens: output, cached_tokens: cached, reasoning_tokens: reasoning },
    ...(costUsd === null ? {} : { price_usd: costUsd }),
  }
}
