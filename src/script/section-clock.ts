import { type BusyTime, createBusyTime } from '../base/busy-time.ts'
import { stopsRun } from '../base/error.ts'
import { captureAsync, unwrap } from '../journal/work-result.ts'
import { limitMessage, limitOf, LuaError, type LuaLimits } from './engine.ts'

/**
 * Measures the work of host functions while a section waits for them: Lua's own clock is stopped then. Their work on
 * the main thread and in threads counts toward `lua.timeout`; a wait for something outside does not.
 */
export interface SectionClock {
  /** The remainder of `lua.timeout`, in whole milliseconds; at least 1. */
  readonly leftMs: () => number
  /** Waits for work of this process. @throws LuaError, which ends the section, if the time is up afterward */
  readonly working: <T>(work: Promise<T>) => Promise<T>
  /** Waits for work in a thread; the thread is responsible for stopping when the time is up. */
  readonly inThread: <T>(work: Promise<T>) => Promise<T>
  /** Waits for something outside: a command, a server, another agent. */
  readonly outside: <T>(work: Promise<T>) => Promise<T>
  /** To be called regularly during long work. @throws LuaError, which ends the section, if the time is up */
  readonly check: () => void
  /** The section has ended. */
  readonly stop: () => void
}

/** One per process, like its main thread. */
const mainThread = createBusyTime()

/** The clock of a section that starts now. */
export function startSectionClock(limits: LuaLimits, busy: BusyTime = mainThread): SectionClock {
  let usedMs = 0
  /** The share when the current wait for work started; undefined: there is no such wait. */
  let workingSince: number | undefined
  let isAtWork = false
  let isStopped = false
  atWork(true)

  function atWork(is: boolean): void {
    if (is === isAtWork) return
    isAtWork = is
    if (is) busy.join()
    else busy.leave()
  }
  function used(): number {
    return usedMs + (workingSince === undefined ? 0 : busy.shareMs() - workingSince)
  }
  function timeIsOver(): LuaError {
    return new LuaError(limitMessage('time', limits), { limit: 'time' })
  }
  return {
    leftMs: () => Math.max(1, Math.ceil(limits.timeMs - used())),
    async working(work) {
      workingSince = busy.shareMs()
      const result = await captureAsync(() => work)
      usedMs = used()
      workingSince = undefined
      const isEnded = result.status === 'failed' && (stopsRun(result.error) || limitOf(result.error) !== undefined)
      if (usedMs > limits.timeMs && !isEnded) throw timeIsOver()
      return unwrap(result)
    },
    async inThread(work) {
      const [began, shareBefore] = [performance.now(), busy.shareMs()]
      try {
        return await work
      } finally {
        // its share of the main thread's time meanwhile is counted with the wait
        usedMs += Math.max(0, performance.now() - began - (busy.shareMs() - shareBefore))
      }
    },
    async outside(work) {
      atWork(false)
      try {
        return await work
      } finally {
        if (!isStopped) atWork(true)
      }
    },
    check() {
      if (used() > limits.timeMs) throw timeIsOver()
    },
    stop() {
      isStopped = true
      atWork(false)
    },
  }
}
