import { BatonError } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import type { Location } from '../journal/place-tree.ts'
import type { JournalRecord, RecordedError } from '../journal/record.ts'
import type { RecordSource } from '../journal/run-index.ts'

/** A recorded value; one whose file is lost or damaged is said so in its place. */
export function valueOf(field: Json | undefined, source: RecordSource): unknown {
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
