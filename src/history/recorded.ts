import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { Location } from '../journal/place-tree.ts'
import type { JournalRecord } from '../journal/record.ts'
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

/** What went wrong, as it was recorded; null where nothing did. */
export function errorOf(record: JournalRecord): string | null {
  return 'status' in record && record.status !== 'ok' ? record.error.message : null
}
