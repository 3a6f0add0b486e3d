import { setMaxListeners } from 'node:events'

/** Hundreds of waiters on one signal are meant here; Node would take more than ten for a leak and say so. */
export function manyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal)
  return signal
}

export interface MapLimitOptions {
  /** How many may be under way at once; at least 1. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * The one bounded-concurrency helper: runs `work` for every item, at most `limit` at once, results in input order.
 * The first rejection aborts the signal of the others and starts no more; it is rethrown once all started work settled.
 * Items are pulled one by one, so an endless or lazily made iterable is never read ahead.
 */
export async function mapLimit<T, R>(
  items: Iterable<T>,
  { limit, signal }: MapLimitOptions,
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const queue = items[Symbol.iterator]()
  const stop = new AbortController()
  const inner = manyListeners(AbortSignal.any([signal, stop.signal]))
  let next = 0
  let failure: { readonly error: unknown } | undefined

  async function worker(): Promise<void> {
    while (!inner.aborted) {
      const item = queue.next()
      if (item.done === true) return
      const index = next++
      try {
        results[index] = await work(item.value, index, inner)
      } catch (error) {
        failure ??= { error }
        stop.abort(new DOMException('stopped because another one failed', 'AbortError'))
      }
    }
  }

  await Promise.all(Array.from({ length: Math.max(1, Math.floor(limit)) }, worker))
  if (failure !== undefined) throw failure.error
  signal.throwIfAborted()
  return results
}

/** A number of places shared by many callers, first come first served. */
export interface Pool {
  /** Runs `work` when a place is free. Rejects with the signal's reason when aborted while waiting. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

export function createPool(size: number): Pool {
  let free = size
  const waiting = new Set<() => void>()

  async function take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (free > 0) {
      free -= 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const granted = (): void => {
        signal.removeEventListener('abort', aborted)
        resolve()
      }
      const aborted = (): void => {
        waiting.delete(granted)
        reject(signal.reason as Error)
      }
      waiting.add(granted)
      manyListeners(signal).addEventListener('abort', aborted, { once: true })
    })
  }

  function give(): void {
    const [first] = waiting
    if (first === undefined) {
      free += 1
      return
    }
    waiting.delete(first)
    first()
  }

  return {
    async run(work, signal) {
      await take(signal)
      try {
        return await work()
      } finally {
        give()
      }
    },
  }
}
