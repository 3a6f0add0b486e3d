import { startLimit } from './clock.ts'

/** A time limit that can stand still. */
export interface PausableLimit {
  /** The time that this work takes does not count; several of them may go on at once. */
  readonly without: <T>(work: () => Promise<T>) => Promise<T>
  /** For good: work that is still going on does not start it again. */
  readonly end: () => void
}

/** Calls `onEnd` when `ms` have passed, without the time that does not count. */
export function startPausableLimit(ms: number, onEnd: () => void): PausableLimit {
  let left = ms
  let pauses = 0
  let isEnded = false
  let begun = performance.now()
  let stop = startLimit(left, onEnd)
  return {
    async without(work) {
      if (pauses === 0) {
        stop()
        left = Math.max(0, left - (performance.now() - begun))
      }
      pauses += 1
      try {
        return await work()
      } finally {
        pauses -= 1
        if (pauses === 0 && !isEnded) {
          begun = performance.now()
          stop = startLimit(left, onEnd)
        }
      }
    },
    end() {
      isEnded = true
      stop()
    },
  }
}
