import { BatonError } from '../base/error.ts'
import { editDistance } from '../base/suggest.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'

/** What a sub-agent returned, checked. Fields that were not returned are absent (R238 to R246, DESIGN 5). */
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
 * Reads the value of a sub-agent. nil and `{}` change nothing; `success = false` or any `error_msg` is a failure.
 * @throws BatonError AGENT_FAILED with exactly `Sub-agent [name] failed: …` (R260), or naming what is not valid
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
    if (key in value) throw invalid(name, `returned "${key}", which Baton does not have`, hint)
  }
  if ('file_changes' in value) {
    const hint = 'Change files with aip.file there; file_changes shows what was done.'
    throw invalid(name, 'returned "file_changes", but the changes of an answer are applied before post_task', hint)
  }
  refuseMistyped(name, value)
  return readFields(name, value)
}

/** A table may hold more than is read, but a key that is one edit away from one that is read is a mistake. */
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
  const field = createFieldReader(name, value)
  const prompt = field.text('coder_prompt')
  const prompts = prompt === undefined ? field.texts('coder_prompts') : [prompt]
  return withoutAbsent({
    params: field.table('coder_params'),
    patch: field.table('coder_params_patch'),
    prompts,
    append: field.texts('coder_prompts_append', { orOne: true }),
    next: field.list('sub_agents_next'),
    content: field.content('ai_response'),
    result: value['agent_result'] ?? undefined,
    redo: field.flag('coder_redo'),
  })
}

interface FieldReader {
  table(key: string): JsonObject | undefined
  text(key: string): string | undefined
  list(key: string): readonly Json[] | undefined
  texts(key: string, options?: { readonly orOne: boolean }): readonly string[] | undefined
  flag(key: string): boolean
  content(key: string): string | undefined
}

function createFieldReader(name: string, value: JsonObject): FieldReader {
  const wrong = (key: string, expected: string): BatonError =>
    invalid(name, `returned "${key}" as ${describe(value[key] ?? null)}, expected ${expected}`)

  // an empty Lua table cannot say whether it is a list
  const listOf = (key: string): readonly Json[] | undefined => {
    const found = value[key] ?? undefined
    if (found === undefined) return undefined
    if (Array.isArray(found)) return found as readonly Json[]
    if (isJsonObject(found) && Object.keys(found).length === 0) return []
    throw wrong(key, 'a list')
  }

  return {
    list: listOf,
    table(key) {
      const found = value[key] ?? undefined
      if (found === undefined) return undefined
      if (isJsonObject(found)) return found
      if (Array.isArray(found) && found.length === 0) return {}
      throw wrong(key, 'a table')
    },
    text(key) {
      const found = value[key] ?? undefined
      if (found === undefined || typeof found === 'string') return found
      throw wrong(key, 'a string')
    },
    texts(key, { orOne } = { orOne: false }) {
      const found = value[key] ?? undefined
      if (orOne && typeof found === 'string') return [found]
      const list = listOf(key)
      if (list === undefined || list.every((item) => typeof item === 'string'))
        return list as readonly string[] | undefined
      throw wrong(key, 'a list of strings')
    },
    flag(key) {
      const found = value[key] ?? false
      if (typeof found === 'boolean') return found
      throw wrong(key, 'true or false')
    },
    content(key) {
      const found = value[key] ?? undefined
      if (found === undefined || typeof found === 'string') return found
      const content = isJsonObject(found) ? (found['content'] ?? undefined) : null
      if (content === undefined || typeof content === 'string') return content
      throw wrong(key, 'a table with a string "content"')
    },
  }
}

type Absent<T> = { readonly [K in keyof T]: T[K] | undefined }

function withoutAbsent(fields: Absent<Required<ChainAnswer>> & { readonly redo: boolean }): ChainAnswer {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as ChainAnswer
}

function invalid(name: string, what: string, hint?: string): BatonError {
  return new BatonError('AGENT_FAILED', `Sub-agent [${name}] ${what}`, hint === undefined ? {} : { hint })
}

function describe(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a table'
  return typeof value === 'boolean' ? `the boolean ${value}` : `a ${typeof value}`
}
