import type { JsonObject } from '../base/json.ts'
import type { AgentResult } from '../event/agent.ts'

export interface ResponseFacts {
  readonly options: JsonObject
  /** How long the call took. */
  readonly seconds: number
}

/** What Output sees of an answer, in the shape packs read (spec/aipack.md 2.5). Without a known price there is no `price_usd`. */
export function aiResponse(
  { text, usage, model, reasoning, costUsd }: AgentResult,
  { options, seconds }: ResponseFacts,
): JsonObject {
  const name = model?.name ?? ''
  const adapter = model?.provider ?? ''
  const price = costUsd === undefined || costUsd === null ? undefined : Math.round(costUsd * 1e6) / 1e6
  const duration = Math.round(seconds * 1000) / 1000
  const temperature = typeof options['temperature'] === 'number' ? ` | Temperature: ${options['temperature']}` : ''
  return {
    ...(text === '' ? {} : { content: text }),
    ...(reasoning === undefined || reasoning === '' ? {} : { reasoning_content: reasoning }),
    model_name: name,
    adapter_kind: adapter,
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    },
    ...(price === undefined ? {} : { price_usd: price }),
    duration_sec: duration,
    info: `Duration: ${duration}s |${price === undefined ? '' : ` ~$${price} |`} Prompt Tokens: ${usage.input} | Completion Tokens: ${usage.output} | Model: ${name} | Adapter: ${adapter}${temperature}`,
  }
}
