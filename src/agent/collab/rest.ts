import type { Clock } from '../../base/clock.ts'

/** Detects that nothing happens for too long. */
export interface RestWatch {
  /** An agent has made progress. */
  readonly progress: () => void
  /** The user is being asked; that time does not count. Returns the function that ends it. */
  readonly asking: () => () => void
  readonly end: () => void
}

export interface RestOptions {
  readonly clock: Clock
  readonly stallAfterMs: number
  /** Nobody has made progress for this long; called once until somebody does. */
  readonly onRest: (restedMs: number) => void
}

export function createRestWatch({ clock, stallAfterMs, onRest }: RestOptions): RestWatch {
  const over = new AbortController()
  const time = clock.startStopwatch()
  let last = 0
  let isWatching = false
  let asked = 0

  async function watch(): Promise<void> {
    isWatching = true
    try {
      for (;;) {
        const restedMs = time.elapsedMs() - last
        if (restedMs >= stallAfterMs && asked === 0) return onRest(restedMs)
        // eslint-disable-next-line no-await-in-loop
        await clock.sleep(asked === 0 ? stallAfterMs - restedMs : stallAfterMs, over.signal)
      }
    } catch (error) {
      if (!over.signal.aborted) throw error
    } finally {
      isWatching = false
    }
  }

  function progress(): void {
    last = time.elapsedMs()
    if (!isWatching && !over.signal.aborted) void watch()
  }

  return {
    progress,
    asking() {
      asked += 1
      let isAsking = true
      return () => {
        if (!isAsking) return
        isAsking = false
        asked -= 1
        progress()
      }
    },
    end() {
      over.abort()
      time.end()
    },
  }
}
