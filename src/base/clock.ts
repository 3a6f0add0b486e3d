import { setTimeout as wait } from 'node:timers/promises'
import { manyListeners } from './concurrency.ts'
import { createWorkTime, startStopwatch, type Stopwatch, systemTime, tickMs } from './work-time.ts'

/** Time and randomness as a parameter, so that waits can be tested without waiting. */
export interface Clock {
  /** Milliseconds since 1970, as the clock of the machine is set. */
  now(): number
  /** Milliseconds, whatever the clock is set to: only differences matter. */
  monotonic(): number
  /** In work time. Rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** In [0, 1). */
  random(): number
  /** Measures work time from now on; whoever starts it ends it. */
  startStopwatch(): Stopwatch
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    const time = createWorkTime(systemTime)
    for (let left = ms; left > 0 && !signal.aborted; left = ms - time.elapsedMs()) {
      // rejects with its own error when aborted
      await wait(Math.min(left, tickMs), undefined, { signal: manyListeners(signal) }).catch(() => {})
    }
    signal.throwIfAborted()
  },
  startStopwatch: () => startStopwatch(),
}

/** Node fires a longer timer immediately. */
export const longestTimer = 2 ** 31 - 1

/**
 * How much longer, in milliseconds, to wait once a time limit passed `lateMs` ago, so that data that has arrived
 * meanwhile is read first. A timer that fires late was held up, for example because the process was stopped or the
 * machine slept.
 */
export function catchUpMs(lateMs: number): number {
  return lateMs > 50 ? 1_000 : 1
}

/**
 * Calls `onEnd` when this much work time has passed and the data received until then has been read. Returns a function
 * that cancels it.
 */
export function startLimit(ms: number, onEnd: () => void): () => void {
  const time = createWorkTime(systemTime)
  let timer: NodeJS.Timeout
  const wait = (): void => {
    const left = ms - time.elapsedMs()
    timer = left > 0 ? setTimeout(wait, Math.min(left, tickMs)) : setTimeout(onEnd, catchUpMs(-left))
  }
  wait()
  return () => clearTimeout(timer)
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** A duration for people, in its two largest units: `250 ms`, `1.5 s`, `45 s`, `1 min 30 s`, `2 h`, `1 d 4 h`. */
export function durationText(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100) / 10
  if (tenths < 10) return `${tenths} s`
  let left = Math.round(ms / 1_000)
  const first = units.findIndex(([, seconds]) => left >= seconds)
  const parts: string[] = []
  for (const [unit, seconds] of units.slice(first, first + 2)) {
    const count = Math.floor(left / seconds)
    left -= count * seconds
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.join(' ')
}

const minuteMs = 60_000
const latestDate = 8.64e15

/** The local time of `at` in whole minutes, rounded up; with the date if it is not on the day of `now`. */
export function localTimeText(at: number, now: number): string {
  const date = new Date(Math.min(Math.ceil(at / minuteMs) * minuteMs, latestDate))
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (date.toDateString() === new Date(now).toDateString()) return time
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
