import type { JsonObject } from '../base/json.ts'
import type { ErrorInfo, EventBody, FileChange, RunEvent } from './event.ts'
import type { Usage } from './message.ts'

type Body<T extends EventBody['type']> = EventBody extends infer B
  ? B extends { readonly type: infer Types }
    ? T extends Types
      ? B
      : never
    : never
  : never

/** A field that may be left out. */
interface Optional {
  readonly optional: JsonObject
}

/** A schema for each field, marked where the type says that it may be left out: what is missing breaks the build. */
type Fields<T> = {
  readonly [key in Exclude<keyof T, 'type'>]-?: Record<never, never> extends Pick<T, key> ? Optional : JsonObject
}

const text: JsonObject = { type: 'string' }
const count: JsonObject = { type: 'integer', minimum: 0 }
const amount: JsonObject = { type: ['number', 'null'], minimum: 0 }
const anything: JsonObject = {}
const list = (items: JsonObject): JsonObject => ({ type: 'array', items })
const oneOf = (...values: readonly string[]): JsonObject => ({ enum: values })
const optional = (schema: JsonObject): Optional => ({ optional: schema })

const stage = oneOf('pre', 'pre_task', 'post_task', 'post')
const scope = oneOf('run', 'task')
const error: JsonObject = { $ref: '#/definitions/error' }
const usage: JsonObject = { $ref: '#/definitions/usage' }
const message = { id: text, type: { const: 'agent_message' } } as const
const task = { index: count, label: text } as const

const ending: Fields<Body<'run.completed'>> = {
  stop_reason: oneOf('done', 'skipped', 'limit', 'budget', 'error', 'cancelled'),
  exit_code: count,
  result: { type: ['string', 'null'] },
  outputs: list(anything),
  usage,
  cost_usd: amount,
  unpriced: list(text),
  permission_denials: list(anything),
  repeated: list(anything),
  reason: optional(text),
  error: optional(error),
}

/** The fields of every event (docs/events.md). */
const events: { readonly [T in EventBody['type']]: Fields<Body<T>> } = {
  'run.started': {
    schema: { const: 1 },
    file: text,
    target: oneOf('prompt', 'agent'),
    file_hash: { type: ['string', 'null'] },
    version: text,
    config_warnings: list(text),
    resumed: optional({ const: true }),
  },
  'stage.started': { stage, agents: list(text) },
  'stage.completed': { stage },
  'stage.failed': { stage, error },
  'tasks.planned': { count, concurrency: count },
  'task.started': { ...task, count },
  'task.completed': { ...task, output: text },
  'task.skipped': { ...task, reason: optional(text) },
  'task.failed': { ...task, error },
  'agent.started': { name: text, kind: oneOf('aip', 'lua', 'prompt', 'llm'), input: optional(anything) },
  'agent.completed': { name: text, stop_reason: text, output: optional(anything) },
  'agent.failed': { name: text, error },
  'item.started': { item: object(message) },
  'item.delta': { item_id: text, text, reasoning: optional({ const: true }) },
  'item.completed': { item: object({ ...message, text }) },
  usage: { model: text, call: usage, total: usage, cost_usd: amount, total_cost_usd: amount },
  retry: { item_id: text, model: text, attempt: { type: 'integer', minimum: 1 }, delay_ms: { type: 'number' }, error },
  fallback: { item_id: text, from: text, to: text, error },
  'changes.applied': { items: list({ $ref: '#/definitions/file_change' }) },
  'file.changed': { op: text, path: text },
  print: { name: text, text },
  pin: { scope, id: text, priority: { type: ['number', 'null'] }, label: text, content: text },
  label: { scope, label: text },
  warning: { message: text, hint: optional(text) },
  redo: { count },
  read_back: { label: text },
  again: { label: text, reason: text },
  answer: { ...task, count, text },
  output: { output: anything },
  'run.completed': ending,
  'run.failed': ending,
}

const envelope: Fields<Omit<RunEvent, keyof EventBody>> = { seq: count, ts: text, run_id: text, agent: text }

const errorFields: Fields<ErrorInfo> = {
  code: text,
  message: text,
  hint: optional(text),
  file: optional(text),
  line: optional(count),
  column: optional(count),
  chain: optional(list(object({ file: text, line: optional(count), column: optional(count) }))),
  diff: optional(text),
}

const usageFields: Fields<Usage> = {
  calls: count,
  input: count,
  output: count,
  cached: count,
  reasoning: count,
  cache_write: optional(count),
}

const changeFields: Fields<FileChange> = {
  file_path: text,
  kind: oneOf('New', 'Patch', 'Append', 'Copy', 'Rename', 'Delete', 'Fail'),
  success: { type: 'boolean' },
  error_msg: optional(text),
  error_hunks: optional(list(object({ hunk_body: text, cause: text }))),
}

/**
 * The JSON Schema (draft-07) of one line of `--json`. New versions add events and fields: a reader passes over what it
 * does not know, so fields that are not named are allowed (spec/conventions.md 4.8).
 */
export function eventJsonSchema(): JsonObject {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'One line of baton run --json',
    oneOf: Object.entries(events).map(([type, fields]) => ({
      title: type,
      ...object({ type: { const: type }, ...envelope, ...fields }),
    })),
    definitions: { error: object(errorFields), usage: object(usageFields), file_change: object(changeFields) },
  }
}

function object(fields: { readonly [name: string]: JsonObject | Optional }): JsonObject {
  const entries = Object.entries(fields)
  return {
    type: 'object',
    required: entries.filter(([, field]) => !isOptional(field)).map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, field]) => [name, isOptional(field) ? field.optional : field])),
  }
}

function isOptional(field: JsonObject | Optional): field is Optional {
  return 'optional' in field
}
