import { type AnswerTable, readAnswerTable } from '../agent/answer-table.ts'
import { BatonError } from '../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { editDistance } from '../base/suggest.ts'
import type { AgentConfig, Stage } from '../config/agent-config.ts'
import type { PromptResult, ScriptAgent, TextAgent } from '../event/agent.ts'

/** The checked return value of a sub-agent. Fields that were not returned are absent. */
export interface ChainAnswer {
  readonly params?: JsonObject
  readonly patch?: JsonObject
  readonly prompts?: readonly string[]
  readonly append?: readonly string[]
  readonly next?: readonly Json[]
  readonly content?: string
  readonly result?: Json
  readonly redo: boolean
}

/**
 * Reads the return value of a sub-agent. nil and `{}` change nothing; `success = false` or any `error_msg` is a
 * failure.
 * @throws BatonError AGENT_FAILED with exactly `Sub-agent [name] failed: …`, or naming the invalid field
 */
export function readAnswer(name: string, value: Json | undefined): ChainAnswer {
  if (value === undefined || value === null) return { redo: false }
  if (!isJsonObject(value)) {
    if (Array.isArray(value) && value.length === 0) return { redo: false }
    const hint = 'Return a table such as { coder_prompt = "…" }, or nil for no change.'
    throw invalid(name, `returned ${describe(value)}, expected a table or nil`, hint)
  }
  refuseFailure(name, value)
  refuseContradictions(name, value)
  for (const [key, hint] of Object.entries(unsupported)) {
    if (key in value) throw invalid(name, `returned "${key}", which Baton does not support`, hint)
  }
  if ('file_changes' in value) {
    const hint = 'In post_task, change files with aip.file; file_changes only reports what was done.'
    throw invalid(name, 'returned "file_changes", but the changes of an answer are applied before post_task', hint)
  }
  refuseMistyped(name, value)
  return readFields(name, value)
}

/** Unknown keys are allowed, but a key that is one edit away from a known one is a mistake. */
function refuseMistyped(name: string, value: JsonObject): void {
  for (const key of Object.keys(value).filter((given) => !known.includes(given))) {
    const meant = known.find((other) => other.length >= 6 && editDistance(key, other, 1) === 1)
    if (meant !== undefined && !(meant in value)) {
      throw invalid(name, `returned "${key}"; did you mean "${meant}"?`, 'Rename it, or return it inside agent_result.')
    }
  }
}

const known: readonly string[] = [
  'success',
  'error_msg',
  'error_details',
  'coder_params',
  'coder_params_patch',
  'coder_prompts',
  'coder_prompt',
  'coder_prompts_append',
  'sub_agents_next',
  'ai_response',
  'agent_result',
  'coder_redo',
]

const unsupported: Readonly<Record<string, string>> = {
  agent_on: 'Write the stages into the entry: { name = "…", stage = ["pre", "post"] }.',
  emit_events: 'Agents follow each other by their place in the list and by stage.',
}

const contradictions: readonly (readonly [string, string])[] = [
  ['coder_params', 'coder_params_patch'],
  ['coder_prompts', 'coder_prompt'],
  ['coder_prompts', 'coder_prompts_append'],
  ['coder_prompt', 'coder_prompts_append'],
]

function refuseFailure(name: string, value: JsonObject): void {
  if (value['success'] !== undefined && typeof value['success'] !== 'boolean') {
    throw invalid(name, `returned success as ${describe(value['success'])}, expected true or false`)
  }
  if (value['success'] !== false && !('error_msg' in value)) return
  const message = textOf(value['error_msg']) ?? 'Unknown error'
  const details = textOf(value['error_details'])
  const more = details === undefined ? '' : `\nDetails: ${details}`
  throw new BatonError('AGENT_FAILED', `Sub-agent [${name}] failed: ${message}${more}`)
}

function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function refuseContradictions(name: string, value: JsonObject): void {
  for (const [left, right] of contradictions) {
    if (left in value && right in value)
      throw invalid(name, `returned both "${left}" and "${right}"`, 'Return one of them.')
  }
}

function readFields(name: string, value: JsonObject): ChainAnswer {
  const wrong = (key: string, expected: string): BatonError =>
    invalid(name, `returned "${key}" as ${describe(value[key] ?? null)}, expected ${expected}`)

  function read<T>(key: string, expected: string, fit: (found: Json) => T | undefined): T | undefined {
    const found = value[key] ?? undefined
    if (found === undefined) return undefined
    const fitting = fit(found)
    if (fitting === undefined) throw wrong(key, expected)
    return fitting
  }

  function texts(key: string): readonly string[] | undefined {
    const list = read(key, 'a list', listIn)
    if (list?.every((item) => typeof item === 'string') === false) throw wrong(key, 'a list of strings')
    return list as readonly string[] | undefined
  }

  const prompt = read('coder_prompt', 'a string', (found) => (typeof found === 'string' ? found : undefined))
  const prompts = prompt === undefined ? texts('coder_prompts') : [prompt]
  const params = read('coder_params', 'a table', tableIn)
  const patch = read('coder_params_patch', 'a table', tableIn)
  const { coder_prompts_append: appended, ai_response: response = null } = value
  const append = typeof appended === 'string' ? [appended] : texts('coder_prompts_append')
  const next = read('sub_agents_next', 'a list', listIn)
  const content = (isJsonObject(response) ? response['content'] : response) ?? undefined
  if (content !== undefined && typeof content !== 'string')
    throw wrong('ai_response', 'a table with a string "content"')
  const redo = read('coder_redo', 'true or false', (found) => (typeof found === 'boolean' ? found : undefined)) ?? false
  const result = value['agent_result'] ?? undefined
  return { redo, ...defined({ params, patch, prompts, append, next, content, result }) }
}

/** An empty Lua table may be a list or a table. */
function tableIn(found: Json): JsonObject | undefined {
  if (isJsonObject(found)) return found
  return Array.isArray(found) && found.length === 0 ? {} : undefined
}

function listIn(found: Json): readonly Json[] | undefined {
  if (Array.isArray(found)) return found as readonly Json[]
  return isJsonObject(found) && Object.keys(found).length === 0 ? [] : undefined
}

function invalid(name: string, what: string, hint?: string): BatonError {
  return new BatonError('AGENT_FAILED', `Sub-agent [${name}] ${what}`, defined({ hint }))
}

function describe(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a table'
  return typeof value === 'boolean' ? `the boolean ${value}` : `a ${typeof value}`
}

/** The answer of an agent that answers with text; plain JSON, because it is recorded. */
export interface TextAnswer {
  readonly text: string
  /** Only if the agent describes its answer with `[output]`. */
  readonly value?: Json
}

/** Null if the agent itself decided that there is nothing to do. */
export function textAnswerOf(result: PromptResult): TextAnswer | null {
  if (result.end === 'skipped') return null
  const { text, value } = result
  return { text, ...(value === undefined ? {} : { value }) }
}

/**
 * Applies the `as` of an entry to a text answer. The default is `append`; in `post_task` and `post` it is always
 * `agent_result`. A skipped agent changes nothing, nor does an empty text that would become part of the instruction.
 * @throws BatonError AGENT_FAILED if `as` is `params` and the text is not a table
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
 * Rejects `as` for an agent that does not answer with text.
 * @throws BatonError CONFIG_INVALID naming the entry
 */
export function checkAs({ name, as, index }: AgentConfig, { kind }: ScriptAgent | TextAgent): void {
  if (as === undefined || kind === 'prompt' || kind === 'command') return
  throw new BatonError(
    'CONFIG_INVALID',
    `sub_agents[${index}]: as = "${as}", but "${name}" does not answer with text`,
    {
      hint: 'Remove as: it is for prompt files and command lines. The fields that a script returns decide what changes.',
    },
  )
}

async function readParams(name: string, { text, value }: TextAnswer): Promise<JsonObject> {
  const read = value === undefined ? await readAnswerTable(text) : asTable(value)
  if (read.kind === 'table') return read.table
  throw new BatonError('AGENT_FAILED', `Sub-agent [${name}] returned no params: the answer ${read.problem}`, {
    hint: 'Tell it in its instruction to answer with one JSON or TOML table and nothing else.',
  })
}

function asTable(value: Json): AnswerTable {
  return isJsonObject(value) ? { kind: 'table', table: value } : { kind: 'wrong', problem: 'is not a table' }
}
