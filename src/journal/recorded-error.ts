import {
  BatonError,
  type ErrorCode,
  type ErrorReason,
  isBatonError,
  isSuspension,
  messageOf,
  type SourcePlace,
  StopSignal,
  stopsRun,
} from '../base/error.ts'
import { defined, type Json } from '../base/json.ts'
import type { BoundaryOptions } from '../event/effects.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { WorkResult } from './work-result.ts'
import type { Entry, Outcome, RecordedError } from './record.ts'
import type { RecordSource } from './source.ts'

/** What a record keeps of a thrown error. */
export function recordedError(error: unknown): RecordedError {
  const message = messageOf(error)
  if (isBatonError(error)) {
    const { code, reason, hint, place } = error
    return {
      type: 'baton',
      code,
      ...defined({ reason }),
      message,
      ...defined({ hint, place: place && position(place) }),
    }
  }
  const isSystem = error instanceof Error && 'code' in error && typeof error.code === 'string'
  return isSystem ? { type: 'system', code: String(error.code), message } : { type: 'other', message }
}

/** The outcome of work that threw: `cancelled` if it was told to stop. */
export function failedOutcome(error: unknown, signal: AbortSignal): Outcome<never> {
  const status = signal.aborted || isAbort(error) ? 'cancelled' : 'error'
  return { status, error: recordedError(error) }
}

/** Whether work was told to stop from outside, even if the error that reports it is worded differently. */
function wasStopped(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof StopSignal || isAbort(error) || wasStopped(error.cause)
}

function isAbort(error: unknown): boolean {
  if (isBatonError(error)) return error.code === 'ABORTED'
  return error instanceof Error && error.name === 'AbortError'
}

/** Without the text of the file, which is recorded as a source. */
function position({ file, line, column }: SourcePlace): NonNullable<RecordedError['place']> {
  return { file, ...defined({ line, column }) }
}

/** The error in the field of a record. */
export function restoreError({ value }: Pick<RecordSource, 'value'>, field: RecordedError): Error {
  const { type, code, reason, message, hint, place } = openError({ value }, field)
  if (type === 'baton') {
    const details = { reason: reason as ErrorReason | undefined, hint, place }
    // earlier versions recorded messages of any length, and a script may have passed one on
    return Object.assign(new BatonError(code as ErrorCode, message, details), { message })
  }
  return code === undefined ? new Error(message) : Object.assign(new Error(message), { code })
}

/** The recorded error, decoded: large ones are blobs, and secrets are masked. */
export function openError({ value }: Pick<RecordSource, 'value'>, field: RecordedError): RecordedError {
  return value(field as unknown as Json) as RecordedError
}

/**
 * The record of how a boundary ended: done, or why it failed. Undefined for work that was stopped from outside, and for
 * an error saying that the run cannot be resumed from its record: nothing has happened to the boundary then.
 */
export function boundaryEnd<T>(
  p: string,
  result: WorkResult<T>,
  { isFinal = () => true, isDoneAgain = () => false, failureIn }: BoundaryOptions<T>,
): Entry | undefined {
  if (result.status === 'failed') {
    const { error } = result
    if (isSuspension(error)) return { k: 'suspended', p, error: recordedError(error) }
    return wasStopped(error) || stopsRun(error) ? undefined : { k: 'failed', p, error: recordedError(error) }
  }
  const { value } = result
  if (isFinal(value)) return { k: 'done', p, value, ...(isDoneAgain(value) ? { below: 'kept' } : {}) }
  const failure = failureIn?.(value)
  return failure === undefined ? undefined : { k: 'failed', p, error: errorOfInfo(failure) }
}

function errorOfInfo({ code, reason, message, hint, file, line, column }: ErrorInfo): RecordedError {
  const place = file === undefined ? undefined : { file, ...defined({ line, column }) }
  return { type: 'baton', code, ...defined({ reason }), message, ...defined({ hint, place }) }
}
