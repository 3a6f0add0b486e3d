import { manyListeners } from './limit.ts'

/** Time and chance as a parameter, so that waits can be tested without waiting. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Rejects with the reason of the signal as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** In [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    const end = performance.now() + ms
    for (let left = ms; left > 0; left = end - performance.now()) await pause(Math.min(left, longestTimer), signal)
    signal.throwIfAborted()
  },
}

// a longer `setTimeout` ends at once
const longestTimer = 2 ** 31 - 1

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    manyListeners(signal).addEventListener('abort', onAbort, { once: true })
  })
}
