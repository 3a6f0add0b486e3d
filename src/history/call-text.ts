import { canonicalJson, isJsonObject, type Json } from '../base/json.ts'
import type { JournalRecord } from '../journal/record.ts'
import type { RecordSource } from '../journal/run-index.ts'
import { encodeValue } from '../journal/value.ts'
import { brokenLines } from './data-lines.ts'
import { errorOf, valueOf } from './recorded.ts'

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

/** Without when files were written, which host functions tell of every file. */
function timeless(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => timeless(item as Json))
  if (!isJsonObject(value)) return value
  const { ctime: _, mtime: __, ...rest } = value
  return Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, timeless(item)]))
}
