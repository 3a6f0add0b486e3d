import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work in small pieces, so that it need not be done in one go. Ends with what it came to. */
export type Steps<T> = Generator<void, T, void>

/** Pieces that are done before anybody waits: about a tenth of a second of looking at files. */
const stepsAtOnce = 10_000
const turnMs = 20

/** Does all of it now. */
export function finishSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Does short work now, and the rest of long work in turns, between which everything else of the process goes on and the
 * work can be stopped. How much is done now depends on the work alone, not on how fast it is.
 * @throws the reason of the signal, as a rejection
 */
export function finishInTurns<T>(steps: Steps<T>, signal: AbortSignal): T | Promise<T> {
  for (let count = 0; count < stepsAtOnce; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
  return goOn(steps, signal)
}

async function goOn<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    await nextTurn(undefined, { signal })
    const end = performance.now() + turnMs
    while (performance.now() < end) {
      const { done, value } = steps.next()
      if (done === true) return value
    }
  }
}
