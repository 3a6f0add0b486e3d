import type { Clock } from '../../src/base/clock.ts'

export interface FakeClock extends Clock {
  /** The lengths of all sleeps that were started, in order, including those that were cut short. */
  readonly sleeps: readonly number[]
}

export interface FakeClockOptions {
  readonly now?: number
  /** What `random` returns. 0.5 means no jitter. */
  readonly draw?: number
  /** Called when a sleep starts. */
  readonly onSleep?: (ms: number) => void
}

interface Sleeper {
  readonly end: number
  readonly wake: () => void
}

/** A clock that jumps to the end of the next sleep as soon as everything that takes no time is done. */
export function fakeClock({ now = 0, draw = 0.5, onSleep }: FakeClockOptions = {}): FakeClock {
  const sleeps: number[] = []
  const sleepers = new Set<Sleeper>()
  let time = now

  function jump(): void {
    const [next] = [...sleepers].sort((left, right) => left.end - right.end)
    if (next === undefined) return
    sleepers.delete(next)
    time = Math.max(time, next.end)
    next.wake()
  }

  return {
    sleeps,
    now: () => time,
    monotonic: () => time,
    random: () => draw,
    startStopwatch() {
      const begun = time
      return { elapsedMs: () => time - begun, end: () => undefined }
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        sleeps.push(ms)
        const sleeper: Sleeper = {
          end: time + ms,
          wake: () => {
            signal.removeEventListener('abort', onAbort)
            resolve()
          },
        }
        const onAbort = (): void => {
          sleepers.delete(sleeper)
          reject(signal.reason as Error)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        sleepers.add(sleeper)
        setImmediate(jump)
        onSleep?.(ms)
      })
    },
  }
}
