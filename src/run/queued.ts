import { manyListeners } from '../base/limit.ts'
import type { TaskQueue } from './task-queue.ts'

export interface QueuedWork<T> {
  readonly queue: TaskQueue
  readonly run: string
  /** The task of an item: its place within the run, and JSON that says what it is. */
  readonly taskOf: (item: T, index: number) => { readonly place: string; readonly input: unknown }
  /** How many may be under way at once; at least 1. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * `mapLimit` by way of a queue: results in the order of the items. The first rejection cancels the other tasks; it is
 * rethrown once all that were started have ended.
 */
export async function mapQueued<T, R>(
  items: readonly T[],
  { queue, run, taskOf, limit, signal }: QueuedWork<T>,
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const tasks = items.map((item, index) => ({ run, ...taskOf(item, index) }))
  const left = new Map(tasks.map(({ place }, index) => [place, index]))
  let failure: { readonly error: unknown } | undefined
  const { promise: over, end } = ending(signal)

  async function take(place: string, taskSignal: AbortSignal): Promise<void> {
    const index = left.get(place)
    if (index === undefined) return
    try {
      results[index] = await work(items[index] as T, index, manyListeners(AbortSignal.any([signal, taskSignal])))
      left.delete(place)
      if (left.size === 0) end()
    } catch (error) {
      failure ??= { error }
      await queue.cancel(run)
      end()
    }
  }

  const stop = queue.work(({ place }, taskSignal) => take(place, taskSignal), { local: Math.max(1, Math.floor(limit)) })
  try {
    for (const task of tasks) {
      if (failure !== undefined || signal.aborted) break
      await queue.submit(task)
    }
    if (left.size > 0) await over
  } finally {
    if (left.size > 0) await queue.cancel(run)
    await stop()
  }
  if (failure !== undefined) throw failure.error
  signal.throwIfAborted()
  return results
}

/** A promise that somebody ends, or the signal. */
function ending(signal: AbortSignal): { readonly promise: Promise<void>; readonly end: () => void } {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (signal.aborted) resolve()
    else manyListeners(signal).addEventListener('abort', end, { once: true })
  })
  return { promise, end }
}
