import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { StopSignal } from '../base/stop.ts'
import type { Outcome, RecordedError } from './record.ts'

/** What a record keeps of something that was thrown. */
export function recordedError(error: unknown): RecordedError {
  const message = messageOf(error)
  if (isBatonError(error)) {
    const { code, hint, place } = error
    return {
      type: 'baton',
      code,
      message,
      ...(hint !== undefined && { hint }),
      ...(place && { place: position(place) }),
    }
  }
  const isSystem = error instanceof Error && 'code' in error && typeof error.code === 'string'
  return isSystem ? { type: 'system', code: String(error.code), message } : { type: 'other', message }
}

/** The outcome of work that threw: `cancelled` when it was told to stop. */
export function failedOutcome(error: unknown, signal: AbortSignal): Outcome<never> {
  const status = signal.aborted || isAbort(error) ? 'cancelled' : 'error'
  return { status, error: recordedError(error) }
}

/** Whether work was told to stop from outside, also when who noticed it says so in other words. */
export function wasStopped(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof StopSignal || isAbort(error) || wasStopped(error.cause)
}

function isAbort(error: unknown): boolean {
  if (isBatonError(error)) return error.code === 'ABORTED'
  return error instanceof Error && error.name === 'AbortError'
}

/** Without the text of the file, which is recorded as a source. */
function position({ file, line, column }: SourcePlace): NonNullable<RecordedError['place']> {
  return { file, ...(line !== undefined && { line }), ...(column !== undefined && { column }) }
}
