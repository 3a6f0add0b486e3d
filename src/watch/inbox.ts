/** What can happen to somebody who waits for the next thing to do. */
type WatchEvent = 'changed' | 'again'

/** Keeps what happens until somebody asks; equal events are one. */
export interface Inbox {
  readonly put: (event: WatchEvent) => void
  /** Forgets what has been put. */
  readonly clear: () => void
  /** The next event; `again` first. Rejects with the reason of the signal. */
  readonly next: (signal: AbortSignal) => Promise<WatchEvent>
}

export function createInbox(): Inbox {
  const events = new Set<WatchEvent>()
  let wake: () => void = () => {}

  function take(): WatchEvent | undefined {
    const event = events.has('again') ? 'again' : events.has('changed') ? 'changed' : undefined
    if (event !== undefined) events.delete(event)
    return event
  }

  return {
    put(event) {
      events.add(event)
      wake()
    },
    clear: () => events.clear(),
    async next(signal) {
      for (;;) {
        signal.throwIfAborted()
        const event = take()
        if (event !== undefined) return event
        await new Promise<void>((resolve) => {
          wake = () => {
            signal.removeEventListener('abort', wake)
            resolve()
          }
          signal.addEventListener('abort', wake, { once: true })
        })
      }
    },
  }
}
