import { BatonError } from '../base/error.ts'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { JournalRecord, RecordedError } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import { encodeValue, timeless } from '../journal/value.ts'

/** A recorded value; one whose file is lost or damaged is said so in its place. */
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

/** What went wrong, as it was recorded. */
export type RecordedFailure = Pick<RecordedError, 'message' | 'place'>

/** What a record says that went wrong; undefined where nothing did. */
export function failureOf(record: JournalRecord, source: RecordSource): RecordedFailure | undefined {
  const error = errorField(record)
  if (error === undefined) return undefined
  // a long one stands in a file of its own
  const value = valueOf(error as unknown as Json, source)
  return isObject(value) ? (value as unknown as RecordedError) : { message: String(value) }
}

function errorField(record: JournalRecord): RecordedError | undefined {
  if (record.k === 'failed' || record.k === 'run.end') return record.error
  return 'status' in record && record.status !== 'ok' ? record.error : undefined
}

/** The message of what went wrong; null where nothing did. */
export function errorOf(record: JournalRecord, source: RecordSource): string | null {
  return failureOf(record, source)?.message ?? null
}

/** A value for people: texts as they are, everything else as JSON over several lines. */
export function dataText(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return typeof value === 'string' ? value : JSON.stringify(value, (_key, item: unknown) => plain(item), 2)
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `(${value.length} bytes)` : value
}

/** JSON over several lines, broken also behind each line break in a text: it can be compared line by line. */
function brokenLines(value: Json): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/(\\\\)|\\n(?!")/g, (found, slash) =>
    slash ? found : `${found}\n`,
  )
}

/**
 * What a model was asked, for people: each message under its role, then the parameters that were sent. A later turn of a
 * conversation records what is new in it; how much was said before is told, and the turns before show it.
 */
export function promptText(request: unknown): string {
  if (!isObject(request)) return dataText(request)
  const { messages, provider, before, ...parameters } = request
  const parts = Array.isArray(messages) ? messages.map(messageText) : []
  const others = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const last = others.length === 0 ? [] : [`[parameters]\n${dataText(Object.fromEntries(others))}`]
  return [`[model]\n${String(provider)}`, ...earlier(before), ...parts, ...last].join('\n\n')
}

function earlier(before: unknown): readonly string[] {
  const count = isObject(before) ? Number(before['count']) : 0
  return count === 0 ? [] : [`(${count} earlier ${count === 1 ? 'message' : 'messages'}: see the turns before)`]
}

/** A message for people: its parts under its role. */
export function messageText(message: unknown): string {
  if (!isObject(message)) return dataText(message)
  const { role, name, parts } = message
  const title = typeof name === 'string' ? `${String(role)}: ${name}` : String(role)
  return [`[${title}]`, ...(Array.isArray(parts) ? parts.map(partText) : [])].join('\n')
}

/** A part of a message without what only its provider understands. */
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

/** What a model answered, without what differs every time. */
export function answerText(value: unknown): string {
  if (!isObject(value)) return dataText(value)
  const { parts } = value
  const said = Array.isArray(parts) ? parts.filter((part) => !isObject(part) || part['type'] !== 'reasoning') : []
  return said.map(partText).join('\n')
}

export type CallRecord = Extract<JournalRecord, { readonly k: 'obs' | 'call' }>

/**
 * A host call with what came of it, without what differs every time: `name(argument, …) = result`. `short`: on one line;
 * `whole`: on as many lines as its values and their texts have.
 */
export function callText(record: CallRecord, shape: 'short' | 'whole', source: RecordSource): string {
  const args = opened(record.args, source)
  const value = record.status === 'ok' ? timeless(opened(record.value, source)) : undefined
  const write = shape === 'short' ? canonicalJson : brokenLines
  const shownArgs = Array.isArray(args) ? args.map((item) => write(item as Json)).join(', ') : write(args)
  return `${record.name}(${shownArgs}) = ${value === undefined ? `error: ${errorOf(record, source) ?? ''}` : write(value)}`
}

/** Whether two calls are recorded in the same words; what is large is not opened. */
export function isRecordedAlike(one: CallRecord, other: CallRecord): boolean {
  return wordsOf(one) === wordsOf(other)
}

function wordsOf(record: CallRecord): string {
  // numbers and times tell nothing about the call
  return canonicalJson({ ...record, e: 0, n: 0, t: 0 } as unknown as Json)
}

/** The JSON of a field, also when it stands in a file of its own. */
function opened(field: Json | undefined, source: RecordSource): Json {
  const value = valueOf(field, source)
  return value === undefined ? null : encodeValue(value, (text) => text)
}
