/**
 * The time in which this thread was busy, shared equally by all who work in it at that moment: what each of them is charged
 * with for a wait that is none for something outside. A wait for a process, a server or a person is not busy time.
 */
export interface BusyTime {
  /** One more works here from now on. */
  readonly join: () => void
  readonly leave: () => void
  /** Milliseconds of one share since the beginning; only differences mean something. */
  readonly shareMs: () => number
}

/** `busyMs` are the milliseconds in which the thread was busy so far. */
export function createBusyTime(busyMs: () => number = busyMsOfLoop): BusyTime {
  let working = 0
  let share = 0
  /** Undefined until somebody asks: what was before makes no difference. */
  let seen: number | undefined

  function advance(): number {
    const now = busyMs()
    share += (now - (seen ?? now)) / Math.max(1, working)
    seen = now
    return share
  }
  return {
    join() {
      if (seen !== undefined) advance()
      working += 1
    },
    leave() {
      if (seen !== undefined) advance()
      working -= 1
    },
    shareMs: advance,
  }
}

/** The event loop knows how long it had nothing to do. Loaded when it is first asked: most scripts wait for nothing. */
function busyMsOfLoop(): number {
  return process.getBuiltinModule('node:perf_hooks').performance.eventLoopUtilization().active
}
