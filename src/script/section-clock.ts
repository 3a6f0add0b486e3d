import { type BusyTime, createBusyTime } from '../base/busy-time.ts'
import { stopsRun } from '../base/error.ts'
import { attemptAsync, passOn } from '../journal/attempt.ts'
import { limitMessage, limitOf, LuaError, type LuaLimits } from './engine.ts'

/**
 * What host functions of a section do while it waits for them: Lua's own clock stands still then. Their work on the main
 * thread and in threads counts for `lua.timeout`; a wait for something outside does not.
 */
export interface SectionClock {
  /** What is left of `lua.timeout`, in whole milliseconds; at least 1. */
  readonly leftMs: () => number
  /** Waits for work of this process. @throws LuaError, which ends the section, when the time is over then */
  readonly working: <T>(work: Promise<T>) => Promise<T>
  /** Waits for work in a thread, which ends it when the time is over. */
  readonly inThread: <T>(work: Promise<T>) => Promise<T>
  /** Waits for what takes its own time: a command, a server, another agent. */
  readonly outside: <T>(work: Promise<T>) => Promise<T>
  /** To be called now and then in work that takes long. @throws LuaError, which ends the section, when the time is over */
  readonly check: () => void
  /** The section has ended. */
  readonly stop: () => void
}

/** One for the process, as its main thread is. */
const mainThread = createBusyTime()

/** The clock of a section that begins now. */
export function startSectionClock(limits: LuaLimits, busy: BusyTime = mainThread): SectionClock {
  let usedMs = 0
  /** What the share was when a wait for work began; undefined: there is none. */
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
      const result = await attemptAsync(() => work)
      usedMs = used()
      workingSince = undefined
      const isEnded = result.status === 'failed' && (stopsRun(result.error) || limitOf(result.error) !== undefined)
      if (usedMs > limits.timeMs && !isEnded) throw timeIsOver()
      return passOn(result)
    },
    async inThread(work) {
      const [began, shareBefore] = [performance.now(), busy.shareMs()]
      try {
        return await work
      } finally {
        // its share of what the main thread did meanwhile is counted with the wait
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
