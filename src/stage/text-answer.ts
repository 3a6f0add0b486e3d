import { type AnswerTable, readAnswerTable } from '../agent/answer-table.ts'
import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { AgentConfig, Stage } from '../config/agent-config.ts'
import type { AgentResult, PromptAgent, ScriptAgent } from '../event/agent.ts'
import type { ChainAnswer } from './answer.ts'

/** What an agent that answers text gave; plain JSON, because it is recorded. */
export interface TextAnswer {
  readonly text: string
  /** Only where the agent describes its answer by `[output]`. */
  readonly value?: Json
}

/** Null when the agent itself decided that there is nothing to do. */
export function textAnswerOf({ stopReason, text, afterAll }: AgentResult): TextAnswer | null {
  if (stopReason === 'skipped') return null
  return { text, ...(afterAll === undefined ? {} : { value: afterAll }) }
}

/**
 * What an entry makes of a text by its `as` (DESIGN 5): `append` is the default, and in `post_task` and `post` it is
 * always `agent_result`. A skipped agent and, where it would become instruction, an empty text change nothing.
 * @throws BatonError AGENT_FAILED when `params` are wanted and the text is no table
 */
export async function readTextAnswer(
  { name, as = 'append' }: AgentConfig,
  stage: Stage,
  answer: TextAnswer | null,
): Promise<ChainAnswer> {
  if (answer === null) return { redo: false }
  const { text, value } = answer
  const use = stage === 'post_task' || stage === 'post' ? 'result' : as
  switch (use) {
    case 'append':
      return text.trim() === '' ? { redo: false } : { append: [text], redo: false }
    case 'replace':
      return text.trim() === '' ? { redo: false } : { prompts: [text], redo: false }
    case 'result':
      return { result: value ?? text, redo: false }
    case 'params':
      return { params: await readParams(name, answer), redo: false }
  }
}

/**
 * Refuses `as` for an agent that answers no text.
 * @throws BatonError CONFIG_INVALID naming the entry
 */
export function checkAs({ name, as, index }: AgentConfig, { kind }: ScriptAgent | PromptAgent): void {
  if (as === undefined || kind === 'prompt') return
  throw new BatonError('CONFIG_INVALID', `sub_agents[${index}]: as = "${as}", but "${name}" does not answer text`, {
    hint: 'Remove as: a script says by the fields it returns what changes. as is for prompt files.',
  })
}

async function readParams(name: string, { text, value }: TextAnswer): Promise<JsonObject> {
  const read = value === undefined ? await readAnswerTable(text) : asTable(value)
  if (read.kind === 'table') return read.table
  throw new BatonError('AGENT_FAILED', `Sub-agent [${name}] answered no params: the answer ${read.problem}`, {
    hint: 'Let its instruction ask for one JSON or TOML table and nothing else.',
  })
}

function asTable(value: Json): AnswerTable {
  return isJsonObject(value) ? { kind: 'table', table: value } : { kind: 'wrong', problem: 'is not a table' }
}
