import type { Thread } from './thread.ts'

/** The engine in the thread looks at the limit itself; only where it cannot is this needed. */
const graceMs = 200
const shortestMs = 20

export interface Watchdog {
  /** From now on the thread's work counts. */
  start(): void
  stop(): void
}

/** Calls `onLate` when a thread has worked for longer than its time limit, for example in one endless native call. */
export function createWatchdog(thread: Thread, timeMs: number, onLate: () => void): Watchdog {
  let timer: NodeJS.Timeout | undefined
  let workedBefore = 0

  const look = (): void => {
    const left = timeMs + graceMs - (thread.workedMs() - workedBefore)
    if (left <= 0 && !thread.isWaiting()) return onLate()
    timer = setTimeout(look, Math.min(Math.max(left, shortestMs), longestTimer))
  }
  return {
    start() {
      workedBefore = thread.workedMs()
      look()
    },
    stop() {
      clearTimeout(timer)
    },
  }
}

/** Node's timers hold 31 bits. */
const longestTimer = 2 ** 31 - 1
