import { BatonError, type ErrorCode } from '../base/error.ts'
import type { RecordedError } from './record.ts'

/** What was thrown, as far as it was recorded. */
export function revived({ type, code, message, hint, place }: RecordedError): Error {
  if (type === 'baton') {
    return new BatonError(code as ErrorCode, message, { ...(hint !== undefined && { hint }), ...(place && { place }) })
  }
  return code === undefined ? new Error(message) : Object.assign(new Error(message), { code })
}
