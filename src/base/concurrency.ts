import { setMaxListeners } from 'node:events'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isRunTooLarge, isSuspension } from './error.ts'

/** Lets a signal have any number of listeners; Node warns of a leak above ten. */
export function manyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal)
  return signal
}

/** Waits for work, but at most `ms`. Rejects if the work rejects within that time. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined)])
  timer.abort()
}

/**
 * Waits for work until the signal is aborted, then rejects with its reason. The work continues: others may wait for it.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error)
    manyListeners(signal).addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * Runs work with a signal that is aborted with either of two until the work ends; `AbortSignal.any` is eight times
 * slower.
 */
export async function withEitherSignal<T>(
  one: AbortSignal,
  other: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (one === other) return work(one)
  const stop = new AbortController()
  const abort = (): void => stop.abort((one.aborted ? one : other).reason)
  const both = [one, other].map(manyListeners)
  for (const signal of both) signal.addEventListener('abort', abort, { once: true })
  if (one.aborted || other.aborted) abort()
  try {
    return await work(stop.signal)
  } finally {
    for (const signal of both) signal.removeEventListener('abort', abort)
  }
}

export interface MapLimitOptions {
  /** Maximum number in progress at the same time; at least 1. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * Runs `work` for every item, at most `limit` at a time, with results in input order. The first rejection aborts the
 * signal of the others and stops new work; it is rethrown when all started work has settled. Items are pulled one by
 * one, so an endless or lazy iterable is never read ahead.
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

/** Slots shared by many callers, first come, first served. */
export interface Pool {
  /** Runs `work` when a slot is free. Rejects with the signal's reason if aborted while waiting. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

export function createPool(size: number): Pool {
  let free = size
  const waiting = new Set<() => void>()

  function turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(start)
        signal.removeEventListener('abort', abort)
      }
      const start = (): void => {
        leave()
        resolve()
      }
      const abort = (): void => {
        leave()
        reject(signal.reason as Error)
      }
      waiting.add(start)
      manyListeners(signal).addEventListener('abort', abort)
    })
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted()
      if (free === 0) await turn(signal)
      else free -= 1
      try {
        return await work()
      } finally {
        const [next] = waiting
        if (next === undefined) free += 1
        else next()
      }
    },
  }
}

export interface InOrder<T> {
  /** Adds the value with this index, from 0; each index once. */
  add(index: number, value: T): void
  /** Delivers all waiting values in order, even if an index before them is missing, and stops holding values back. */
  release(): void
}

/** Delivers values in index order, whatever order they arrive in. `held`: not before `release`. */
export function createInOrder<T>(
  deliver: (value: T) => void,
  { held }: { readonly held: boolean } = { held: false },
): InOrder<T> {
  const waiting = new Map<number, T>()
  let next = 0
  let open = !held

  return {
    add(index, value) {
      waiting.set(index, value)
      if (!open) return
      while (waiting.has(next)) {
        const ready = waiting.get(next) as T
        waiting.delete(next)
        next += 1
        deliver(ready)
      }
    },
    release() {
      open = true
      const rest = [...waiting.entries()].toSorted(([left], [right]) => left - right)
      waiting.clear()
      for (const [, value] of rest) deliver(value)
    },
  }
}

/**
 * Pushed items for any number of readers, each of which gets all of them in order. Readers that start before the first
 * item is read get everything; later ones get what is pushed from then on, so the slowest reader bounds memory.
 */
export interface Broadcast<T> extends AsyncIterable<T> {
  readonly push: (item: T) => void
  /** Readers end, or throw the error, after reading everything. */
  readonly end: (error?: unknown) => void
}

interface BroadcastReader<T> {
  items: T[]
  wake: () => void
}

export function createBroadcast<T>(): Broadcast<T> {
  const readers = new Set<BroadcastReader<T>>()
  let early: T[] | undefined = []
  let ending: { readonly error?: unknown } | undefined

  async function* read(reader: BroadcastReader<T>): AsyncGenerator<T> {
    try {
      for (;;) {
        const { items } = reader
        reader.items = []
        for (const item of items) {
          early = undefined
          yield item
        }
        if (reader.items.length > 0) continue
        if (ending !== undefined) break
        await new Promise<void>((resolve) => (reader.wake = resolve))
      }
      if (ending.error !== undefined) throw ending.error
    } finally {
      readers.delete(reader)
    }
  }

  return {
    push(item) {
      early?.push(item)
      for (const reader of readers) {
        reader.items.push(item)
        reader.wake()
      }
    },
    end(error) {
      ending = { error }
      for (const { wake } of readers) wake()
    },
    [Symbol.asyncIterator]() {
      const reader = { items: [...(early ?? [])], wake: () => {} }
      readers.add(reader)
      return read(reader)
    },
  }
}

/** Work in small steps that can be interrupted between them. Returns the result. */
export type Steps<T> = Generator<void, T, void>

/** Steps done without a pause: about a tenth of a second of reading folders. */
const stepsAtOnce = 10_000
const turnMs = 20
/** Short enough that several tasks taking turns go unnoticed. */
const sliceMs = 2

/** Does all of the work immediately. */
export function finishSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Does short work immediately, and long work in turns, between which other work of the process continues and the signal
 * is checked. Whether the result is a promise depends only on the number of steps, not on speed.
 * @throws the signal's reason, as a rejection
 */
export function finishInTurns<T>(steps: Steps<T>, signal: AbortSignal): T | Promise<T> {
  for (let count = 0; count < stepsAtOnce; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
  return inTurns(steps, signal)
}

async function inTurns<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    await nextTurn(undefined, { signal })
    const end = performance.now() + turnMs
    while (performance.now() < end) {
      const { done, value } = steps.next()
      if (done === true) return value
    }
  }
}

/**
 * Does work of which much may run at the same time, in slices of two milliseconds. Rejects with the signal's reason.
 */
export async function finishInSlices<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
  const slices = createSlices()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    const pause = slices.pass(signal)
    if (pause !== undefined) await pause
  }
}

/** Pauses for work of which much may run at the same time. */
export function createSlices(): Turns {
  return createTurns(sliceMs)
}

/** Pauses for long work that is not made of `Steps`. */
export interface Turns {
  /** Lets other work of the process continue if this has run long enough. @throws the signal's reason */
  readonly pass: (signal?: AbortSignal) => Promise<void> | undefined
  /** Whether it ever paused. */
  readonly passed: () => boolean
}

export function createTurns(ms = turnMs): Turns {
  let end = performance.now() + ms
  let passed = false

  async function pause(signal: AbortSignal | undefined): Promise<void> {
    passed = true
    await nextTurn(undefined, signal && { signal })
    end = performance.now() + ms
  }

  return {
    pass: (signal) => (performance.now() < end ? undefined : pause(signal)),
    passed: () => passed,
  }
}

/**
 * `mapLimit` for siblings of which some may be suspended, or exceed the size limit of the record: then the others
 * finish first, because they are paid for, and the first such error is thrown. Any other error stops the others.
 */
export async function mapSiblings<T, R>(
  items: readonly T[],
  options: { readonly limit: number; readonly signal: AbortSignal },
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  let held: { readonly error: unknown } | undefined
  const results = await mapLimit(items, options, async (item, index, signal): Promise<readonly R[]> => {
    try {
      return [await work(item, index, signal)]
    } catch (error) {
      if (!isSuspension(error) && !isRunTooLarge(error)) throw error
      held ??= { error }
      return []
    }
  })
  if (held !== undefined) throw held.error
  return results.flat()
}
