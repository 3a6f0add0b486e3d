import type { ModelFault } from './errors.ts'

/** A time limit, and the fault that passing it is. */
export interface TimeLimit {
  readonly ms: number
  readonly fault: (ms: number) => ModelFault
}

/** Node's timers wait no longer. */
export const longestTimer = 2 ** 31 - 1

export interface Alarm {
  /** Rings when this much time has passed from now, unless it is set anew, at rest or cleared before. */
  set(limit: TimeLimit): void
  isSet(): boolean
  /** Until it is set anew it does not ring. */
  rest(): void
  /** Ends it. Until then it keeps the process running. */
  clear(): void
}

/**
 * One timer for all the waits of a call. It is not moved when a wait begins, which would cost more than all else about a
 * read: it looks how long the wait of that moment has been, and comes back when there is time left.
 */
export function createAlarm(ring: (limit: TimeLimit) => void): Alarm {
  let timer: { readonly handle: NodeJS.Timeout; readonly at: number } | undefined
  let current: TimeLimit | undefined
  let until = 0

  function start(now: number): void {
    clearTimeout(timer?.handle)
    timer = { handle: setTimeout(onTime, Math.min(until - now, longestTimer)), at: until }
  }

  function onTime(): void {
    timer = undefined
    if (current === undefined) return
    const now = performance.now()
    // timers of Node come up to a millisecond early
    if (until - now < 1) ring(current)
    else start(now)
  }

  return {
    set(limit) {
      const now = performance.now()
      current = limit
      until = now + limit.ms
      if (timer === undefined || timer.at > until) start(now)
    },
    isSet: () => current !== undefined,
    rest() {
      current = undefined
    },
    clear() {
      current = undefined
      clearTimeout(timer?.handle)
      timer = undefined
    },
  }
}
