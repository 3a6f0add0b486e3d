/** Tells any number of runs when a signal is aborted, with one listener per signal (Node warns beyond ten). */
export interface Interrupts {
  /** Calls `interrupt` with the reason when `signal` is aborted. Returns how to stop listening. */
  listen(signal: AbortSignal, interrupt: (reason: unknown) => void): () => void
}

export function createInterrupts(): Interrupts {
  const listening = new Map<AbortSignal, { readonly all: Set<(reason: unknown) => void>; readonly stop: () => void }>()

  const start = (signal: AbortSignal): Set<(reason: unknown) => void> => {
    const all = new Set<(reason: unknown) => void>()
    const onAbort = (): void => {
      for (const interrupt of all) interrupt(signal.reason)
    }
    signal.addEventListener('abort', onAbort)
    listening.set(signal, { all, stop: () => signal.removeEventListener('abort', onAbort) })
    return all
  }
  return {
    listen(signal, interrupt) {
      const all = listening.get(signal)?.all ?? start(signal)
      all.add(interrupt)
      return () => {
        all.delete(interrupt)
        if (all.size > 0) return
        listening.get(signal)?.stop()
        listening.delete(signal)
      }
    },
  }
}
