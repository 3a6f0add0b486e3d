import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { createPool, manyListeners } from './concurrency.ts'
import { BatonError, type ErrorCode, type ErrorDetails } from './error.ts'

/** Work that takes its arguments by copy and gives a copy back; `name` is a task of apart-worker.ts. */
export interface ApartTask {
  readonly name: string
  readonly args: readonly unknown[]
}

export interface ApartLimits {
  /** From the start of the task in its thread to its end; left out: as long as it takes. */
  readonly timeMs?: number
  /** Memory of the thread for what the task makes. */
  readonly memoryMb: number
  readonly signal: AbortSignal
}

/** A task was stopped at a limit. */
export class ApartLimit extends Error {
  override readonly name = 'ApartLimit'
  readonly limit: 'time' | 'memory'

  constructor(limit: 'time' | 'memory', { timeMs, memoryMb }: Pick<ApartLimits, 'timeMs' | 'memoryMb'>) {
    super(limit === 'time' ? `it took longer than ${timeMs} ms` : `it needs more than ${memoryMb} MB of memory`)
    this.limit = limit
  }
}

/** What a thread answers. */
export type FromApart =
  /** It has loaded what it needs. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string; readonly code?: ErrorCode; readonly details?: ErrorDetails }

/** Threads at work at the same time; more tasks wait. They are as heavy as the process itself. */
const threads = createPool(2)
const idleMs = 10_000
/** Of a thread besides what a task makes. */
const ownMemoryMb = 64

/** The threads without a task. */
const idle = new Map<Worker, NodeJS.Timeout>()

/**
 * Does a task in a thread of its own, so that it can be stopped whatever it does and other work goes on meanwhile. Starting
 * a thread takes as long as a hundred small tasks: for what can be large. Rejects with the signal's reason, `ApartLimit`, or
 * the task's own error, of which code, message, hint and place come across.
 */
export function runApart(task: ApartTask, limits: ApartLimits): Promise<unknown> {
  return threads.run(() => runInThread(task, limits), limits.signal)
}

async function runInThread(task: ApartTask, limits: ApartLimits): Promise<unknown> {
  const { signal, timeMs, memoryMb } = limits
  const worker = await takeWorker(memoryMb)
  let timer: NodeJS.Timeout | undefined
  let isWhole = false
  const off: (() => void)[] = []
  try {
    return await new Promise((resolve, reject) => {
      const onMessage = (message: FromApart): void => {
        if (message.kind === 'begun') {
          if (timeMs !== undefined) timer = setTimeout(() => reject(new ApartLimit('time', limits)), timeMs)
          return
        }
        isWhole = true
        if (message.kind === 'done') resolve(message.value)
        else reject(errorOf(message))
      }
      const onError = (error: Error): void => {
        const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        reject(isMemory ? new ApartLimit('memory', limits) : error)
      }
      const onExit = (code: number): void => reject(new Error(`the thread ended with code ${code}`))
      const onAbort = (): void => reject(signal.reason as Error)
      worker.on('message', onMessage).on('error', onError).on('exit', onExit)
      manyListeners(signal).addEventListener('abort', onAbort)
      off.push(() => {
        worker.off('message', onMessage).off('error', onError).off('exit', onExit)
        signal.removeEventListener('abort', onAbort)
      })
      if (signal.aborted) return onAbort()
      worker.postMessage(task)
    })
  } finally {
    clearTimeout(timer)
    for (const stop of off) stop()
    if (isWhole) keep(worker)
    else end(worker)
  }
}

function errorOf({ message, code, details = {} }: Extract<FromApart, { kind: 'failed' }>): Error {
  return code === undefined ? new Error(message) : new BatonError(code, message, details)
}

async function takeWorker(memoryMb: number): Promise<Worker> {
  const heapMb = memoryMb + ownMemoryMb
  const kept = [...idle.keys()].find((worker) => worker.resourceLimits?.maxOldGenerationSizeMb === heapMb)
  if (kept !== undefined) {
    clearTimeout(idle.get(kept))
    idle.delete(kept)
    kept.removeAllListeners('error')
    kept.ref()
    return kept
  }
  const { Worker } = await import('node:worker_threads')
  return new Worker(workerFile(), { resourceLimits: { maxOldGenerationSizeMb: heapMb }, env: {} })
}

/** One is kept for the next task; it does not keep the process. */
function keep(worker: Worker): void {
  for (const [other, timer] of idle) {
    clearTimeout(timer)
    end(other)
  }
  worker.on('error', () => end(worker))
  worker.unref()
  idle.set(worker, setTimeout(() => end(worker), idleMs).unref())
}

function end(worker: Worker): void {
  clearTimeout(idle.get(worker))
  idle.delete(worker)
  worker.on('error', () => undefined)
  void worker.terminate()
}

/** Beside the bundled command or one folder above; in the library; for the source itself, that of the built library. */
function workerFile(): URL {
  const here = dirname(fileURLToPath(import.meta.url))
  const places = [
    join(here, 'apart.js'),
    join(here, '../apart.js'),
    join(here, '../apart-worker.js'),
    join(here, '../../dist/apart-worker.js'),
  ].filter((file) => file !== fileURLToPath(import.meta.url))
  const file = places.find((place) => existsSync(place))
  if (file === undefined) throw new Error('apart-worker.js is not there: build the library first')
  return pathToFileURL(file)
}
