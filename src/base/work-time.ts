/** What time is read from; replaced in tests. All values are milliseconds, of which only differences matter. */
export interface TimeSource {
  /** Never set by anyone. It may or may not go on while the machine sleeps. */
  readonly monotonic: () => number
  /** Set by people and by time servers, and goes on while the machine sleeps. */
  readonly wall: () => number
  /** The processor time of this process. */
  readonly busy: () => number
}

export const systemTime: TimeSource = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  busy: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
}

/** The longest time that counts between two ticks, unless this process was busy all the while. */
const longestTickMs = 1_000
/** How often to tick: often enough that a timer that is a little late loses nothing. */
export const tickMs = longestTickMs / 2

/**
 * The time in which this process could work: ticks of at most a second each, added up. A longer gap, in which the
 * machine or the process slept or the clock was set, counts as one tick.
 */
export interface WorkTime {
  /** Milliseconds since the start. Call it at least once a second. */
  readonly elapsedMs: () => number
}

/** `onGap` is told of each gap, and how long it was; negative if the clock of the machine was set back. */
export function createWorkTime({ monotonic, wall, busy }: TimeSource, onGap?: (ms: number) => void): WorkTime {
  let worked = 0
  let last = { monotonic: monotonic(), wall: wall(), busy: busy() }
  return {
    elapsedMs() {
      const now = { monotonic: monotonic(), wall: wall(), busy: busy() }
      const gap = now.monotonic - last.monotonic
      const counted = gap <= longestTickMs ? gap : Math.min(gap, Math.max(longestTickMs, now.busy - last.busy))
      const setMs = now.wall - last.wall - gap
      const lostMs = setMs < -longestTickMs ? setMs : Math.max(gap - counted, setMs)
      worked += counted
      last = now
      if (Math.abs(lostMs) > longestTickMs) onGap?.(lostMs)
      return worked
    },
  }
}

/** A `WorkTime` that ticks by itself until it is ended. It does not keep the process running. */
export interface Stopwatch extends WorkTime {
  readonly end: () => void
}

export function startStopwatch(source: TimeSource = systemTime, onGap?: (ms: number) => void): Stopwatch {
  const time = createWorkTime(source, onGap)
  const ticker = setInterval(time.elapsedMs, tickMs).unref()
  return { elapsedMs: time.elapsedMs, end: () => clearInterval(ticker) }
}
