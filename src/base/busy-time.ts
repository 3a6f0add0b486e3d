/**
 * The time this thread was busy, shared equally by everyone working in it at that moment: what each of them is charged
 * for a wait inside the thread. Waiting for a process, a server or a person is not busy time.
 */
export interface BusyTime {
  /** One more party starts working here. */
  readonly join: () => void
  readonly leave: () => void
  /** Milliseconds of one share since the start; only differences are meaningful. */
  readonly shareMs: () => number
}

/** `busyMs` returns the milliseconds this thread has been busy so far. */
export function createBusyTime(busyMs: () => number = busyMsOfLoop): BusyTime {
  let working = 0
  let share = 0
  /** Undefined until the first reading: earlier time makes no difference. */
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

/** The event loop knows how long it was idle. Loaded at the first reading: most scripts never wait. */
function busyMsOfLoop(): number {
  return process.getBuiltinModule('node:perf_hooks').performance.eventLoopUtilization().active
}
