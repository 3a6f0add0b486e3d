import { BatonError } from '../base/error.ts'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { JournalRecord, RecordedError } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import { encodeValue, timeless } from '../journal/value.ts'

/** A recorded value; if its file is lost or damaged, a text that says so. */
export function valueOf(field: Json | undefined, source: Pick<RecordSource, 'value'>): unknown {
  try {
    return source.value(field)
  } catch (error) {
    if (error instanceof BatonError) return `(${error.message})`
    throw error
  }
}

export function timeOf(location: Location, source: RecordSource): number {
  return source.at(location).t
}

/** A recorded failure. */
export type RecordedFailure = Pick<RecordedError, 'message' | 'place' | 'hint'>

/** The failure in a record; undefined if it has none. */
export function failureOf(record: JournalRecord, source: Pick<RecordSource, 'value'>): RecordedFailure | undefined {
  const error = errorField(record)
  if (error === undefined) return undefined
  // a long error is in a separate file
  const value = valueOf(error as unknown as Json, source)
  return isObject(value) ? (value as unknown as RecordedError) : { message: String(value) }
}

function errorField(record: JournalRecord): RecordedError | undefined {
  if (record.k === 'failed' || record.k === 'run.end') return record.error
  return 'status' in record && record.status !== 'ok' ? record.error : undefined
}

/** Whether a failure is that only a part of some work is done. */
export function isPartial(record: JournalRecord, source: Pick<RecordSource, 'value'>): boolean {
  const error = record.k === 'failed' ? valueOf(record.error as unknown as Json, source) : undefined
  return isObject(error) && error['reason'] === 'PARTIAL_RESULT'
}

/** The error message in a record; null if it has none. */
export function errorOf(record: JournalRecord, source: RecordSource): string | null {
  return failureOf(record, source)?.message ?? null
}

/** A value for display: texts unchanged, everything else as multi-line JSON. */
export function dataText(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return typeof value === 'string' ? value : JSON.stringify(value, (_key, item: unknown) => plain(item), 2)
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `(${value.length} bytes)` : value
}

/** Multi-line JSON that also breaks after each line break in a text, so that it can be compared line by line. */
function brokenLines(value: Json): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/(\\\\)|\\n(?!")/g, (found, slash) =>
    slash ? found : `${found}\n`,
  )
}

/**
 * The request to a model, for display: each message under its role, then the parameters that were sent. A later turn of
 * a conversation records only its new messages; the number of earlier ones is shown, and the previous turns show them.
 */
export function promptText(request: unknown): string {
  if (!isObject(request)) return dataText(request)
  const { messages, provider, before, compaction: _, ...parameters } = request
  const parts = Array.isArray(messages) ? messages.map(messageText) : []
  const others = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const last = others.length === 0 ? [] : [`[parameters]\n${dataText(Object.fromEntries(others))}`]
  return [`[model]\n${String(provider)}`, ...earlier(before), ...parts, ...last].join('\n\n')
}

function earlier(before: unknown): readonly string[] {
  const count = isObject(before) ? Number(before['count']) : 0
  return count === 0 ? [] : [`(${count} earlier ${count === 1 ? 'message' : 'messages'}: see the previous turns)`]
}

/** A message for display: its parts under its role. */
export function messageText(message: unknown): string {
  if (!isObject(message)) return dataText(message)
  const { role, name, parts } = message
  const title = typeof name === 'string' ? `${String(role)}: ${name}` : String(role)
  return [`[${title}]`, ...(Array.isArray(parts) ? parts.map(partText) : [])].join('\n')
}

/** A part of a message, without provider-specific data. */
function partText(part: unknown): string {
  if (!isObject(part)) return dataText(part)
  const { provider: _, type, ...said } = part
  switch (type) {
    case 'text':
      return String(said['text']).replace(/\n$/, '')
    case 'file':
      return `(attached: ${String(said['name'])})`
    case 'reasoning':
      return `(reasoning) ${String(said['text'])}`
    case 'tool_result': {
      const parts = Array.isArray(said['parts']) ? said['parts'].map(partText) : []
      return [`(${said['is_error'] === true ? 'error' : 'result'} of ${String(said['id'])})`, ...parts].join('\n')
    }
    default:
      return dataText(said)
  }
}

/** A model's answer, without what differs between runs. */
export function answerText(value: unknown): string {
  if (!isObject(value)) return dataText(value)
  const { parts } = value
  const said = Array.isArray(parts) ? parts.filter((part) => !isObject(part) || part['type'] !== 'reasoning') : []
  return said.map(partText).join('\n')
}

export type CallRecord = Extract<JournalRecord, { readonly k: 'obs' | 'call' }>

/**
 * A host call with its result, without what differs between runs: `name(argument, …) = result`. `short`: on one line;
 * `whole`: on as many lines as its values and their texts have.
 */
export function callText(record: CallRecord, shape: 'short' | 'whole', source: RecordSource): string {
  const args = opened(record.args, source)
  const value = record.status === 'ok' ? timeless(opened(record.value, source)) : undefined
  const write = shape === 'short' ? canonicalJson : brokenLines
  const shownArgs = Array.isArray(args) ? args.map((item) => write(item as Json)).join(', ') : write(args)
  return `${record.name}(${shownArgs}) = ${value === undefined ? `error: ${errorOf(record, source) ?? ''}` : write(value)}`
}

/** Whether two calls have identical records; large values are not opened. */
export function isRecordedAlike(one: CallRecord, other: CallRecord): boolean {
  return wordsOf(one) === wordsOf(other)
}

function wordsOf(record: CallRecord): string {
  // numbers and times are irrelevant for the call
  return canonicalJson({ ...record, e: 0, n: 0, t: 0 } as unknown as Json)
}

/** The JSON of a field, even if it is in a separate file. */
function opened(field: Json | undefined, source: RecordSource): Json {
  const value = valueOf(field, source)
  return value === undefined ? null : encodeValue(value, (text) => text)
}
