import { stopsRun } from '../base/error.ts'
import type { BoundaryOptions } from '../event/effects.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { Attempt } from './attempt.ts'
import type { Entry, RecordedError } from './record.ts'
import { recordedError, wasStopped } from './recorded-error.ts'

/**
 * The record of how a boundary ended: done, or why it failed. Undefined for work that was stopped from outside, and for
 * an error that says that the run cannot go on as it is recorded: nothing has happened to the boundary then.
 */
export function boundaryEnd<T>(
  p: string,
  result: Attempt<T>,
  { isFinal = () => true, failureIn }: BoundaryOptions<T>,
): Entry | undefined {
  if (result.status === 'failed') {
    const { error } = result
    return wasStopped(error) || stopsRun(error) ? undefined : { k: 'failed', p, error: recordedError(error) }
  }
  const { value } = result
  if (isFinal(value)) return { k: 'done', p, value }
  const failure = failureIn?.(value)
  return failure === undefined ? undefined : { k: 'failed', p, error: errorOfInfo(failure) }
}

function errorOfInfo({ code, message, hint, file, line, column }: ErrorInfo): RecordedError {
  const place = file === undefined ? undefined : { file, ...(line && { line }), ...(column && { column }) }
  return { type: 'baton', code, message, ...(hint !== undefined && { hint }), ...(place && { place }) }
}
