import type { BoundaryOptions } from '../event/effects.ts'
import { type WorkResult, capture, captureAsync, unwrap } from './work-result.ts'
import type { RunJournal } from './journal.ts'
import type { Outcome } from './record.ts'
import { boundaryEnd, failedOutcome, recordedError } from './recorded-error.ts'

/** Does the work of a boundary that has started, and records its end. */
export async function finishBoundary<T>(
  journal: Pick<RunJournal, 'note' | 'failure'>,
  p: string,
  { work, ...options }: BoundaryOptions<T> & { readonly work: () => Promise<T> },
): Promise<T> {
  const result = await captureAsync(work)
  const entry = boundaryEnd(p, result, options)
  // if the journal has failed, that is why the work failed
  if (entry !== undefined && (result.status === 'ok' || !journal.failure.aborted)) journal.note(entry)
  return unwrap(result)
}

/** Runs a call that returns synchronously or later, passes its result on, and calls `onEnd` with the outcome. */
export function recordCall<T>(work: () => T | Promise<T>, onEnd: (outcome: WorkResult<T>) => void): T | Promise<T> {
  const result = capture(work)
  if (result.status === 'ok' && result.value instanceof Promise) {
    return captureAsync(() => result.value as Promise<T>).then((outcome) => {
      onEnd(outcome)
      return unwrap(outcome)
    })
  }
  onEnd(result as WorkResult<T>)
  return unwrap(result)
}

/** The outcome of something that was read or called. */
export function observationOutcome(result: WorkResult<unknown>): Outcome<unknown> {
  return result.status === 'ok' ? result : { status: 'error', error: recordedError(result.error) }
}

/** The outcome of an effect, which may have been cancelled. */
export function outcomeOf(result: WorkResult<unknown>, signal: AbortSignal): Outcome<unknown> {
  return result.status === 'ok' ? result : failedOutcome(result.error, signal)
}
