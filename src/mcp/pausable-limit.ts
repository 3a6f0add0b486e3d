import { startLimit } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'

/** A time limit that can stand still. */
export interface PausableLimit {
  /** Aborted when the time is over, and with the signal it was made with. */
  readonly signal: AbortSignal
  readonly isOver: () => boolean
  /** The time that this work takes does not count. */
  readonly without: <T>(work: () => Promise<T>) => Promise<T>
  readonly end: () => void
}

export function createPausableLimit(ms: number, signal: AbortSignal): PausableLimit {
  const limit = new AbortController()
  let left = ms
  let pauses = 0
  let begun = performance.now()
  let endTimer = startLimit(left, () => limit.abort())

  return {
    signal: manyListeners(AbortSignal.any([signal, limit.signal])),
    isOver: () => limit.signal.aborted,
    async without(work) {
      if (pauses === 0) {
        endTimer()
        left -= performance.now() - begun
      }
      pauses += 1
      try {
        return await work()
      } finally {
        pauses -= 1
        if (pauses === 0) {
          begun = performance.now()
          endTimer = startLimit(Math.max(0, left), () => limit.abort())
        }
      }
    },
    end() {
      endTimer()
    },
  }
}
