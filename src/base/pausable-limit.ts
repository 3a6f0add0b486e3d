import { startLimit } from './clock.ts'
import { startStopwatch } from './work-time.ts'

/** A time limit that can be paused. */
export interface PausableLimit {
  /** Pauses the limit while this work runs; several may run at the same time. */
  readonly without: <T>(work: () => Promise<T>) => Promise<T>
  /** Ends the limit for good: work that is still running does not restart it. */
  readonly end: () => void
}

/** Calls `onEnd` when `ms` have passed, not counting paused time. */
export function startPausableLimit(ms: number, onEnd: () => void): PausableLimit {
  let left = ms
  let pauses = 0
  let isEnded = false
  let time = startStopwatch()
  let stop = startLimit(left, onEnd)
  return {
    async without(work) {
      if (pauses === 0) {
        stop()
        left = Math.max(0, left - time.elapsedMs())
        time.end()
      }
      pauses += 1
      try {
        return await work()
      } finally {
        pauses -= 1
        if (pauses === 0 && !isEnded) {
          time = startStopwatch()
          stop = startLimit(left, onEnd)
        }
      }
    },
    end() {
      isEnded = true
      time.end()
      stop()
    },
  }
}
