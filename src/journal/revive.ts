import { BatonError, type ErrorCode } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { RecordedError } from './record.ts'
import type { RecordSource } from './run-index.ts'

/** What was thrown, from the field of a record. */
export function revivedFrom({ value }: Pick<RecordSource, 'value'>, field: RecordedError): Error {
  return revived(openError({ value }, field))
}

/** The field of a record as it was noted: large ones stand in a blob, and secrets are masked. */
export function openError({ value }: Pick<RecordSource, 'value'>, field: RecordedError): RecordedError {
  return value(field as unknown as Json) as RecordedError
}

function revived({ type, code, message, hint, place }: RecordedError): Error {
  if (type === 'baton') {
    return new BatonError(code as ErrorCode, message, { ...(hint !== undefined && { hint }), ...(place && { place }) })
  }
  return code === undefined ? new Error(message) : Object.assign(new Error(message), { code })
}
