import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { createPool, manyListeners } from './concurrency.ts'
import { BatonError, type ErrorCode, type ErrorDetails } from './error.ts'

/** A task whose arguments and result are copied; `name` is a task of task-worker.ts. */
export interface WorkerTask {
  readonly name: string
  readonly args: readonly unknown[]
}

export interface WorkerLimits {
  /** Measured from the start of the task in its thread to its end; default: no limit. */
  readonly timeMs?: number
  /** Memory of the thread that the task may use. */
  readonly memoryMb: number
  readonly signal: AbortSignal
}

/** A task was stopped because it reached a limit. */
export class WorkerLimitError extends Error {
  override readonly name = 'WorkerLimitError'
  readonly limit: 'time' | 'memory'

  constructor(limit: 'time' | 'memory', { timeMs, memoryMb }: Pick<WorkerLimits, 'timeMs' | 'memoryMb'>) {
    super(limit === 'time' ? `it took longer than ${timeMs} ms` : `it needs more than ${memoryMb} MB of memory`)
    this.limit = limit
  }
}

/** The messages of a thread. */
export type WorkerMessage =
  /** It has loaded its modules and starts the task. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string; readonly code?: ErrorCode; readonly details?: ErrorDetails }

/** Threads that run at the same time; further tasks wait. Each is as heavy as the process itself. */
const threads = createPool(2)
const idleMs = 10_000
/** Memory of a thread on top of what a task uses. */
const ownMemoryMb = 64

/** Threads without a task. */
const idle = new Map<Worker, NodeJS.Timeout>()

/**
 * Runs a task in its own thread, so that it can be stopped at any point and does not block other work. Starting a
 * thread takes as long as a hundred small tasks, so use it for input that can be large. Rejects with the signal's
 * reason, `WorkerLimitError`, or the task's own error, of which code, message, hint and place are kept.
 */
export function runInWorker(task: WorkerTask, limits: WorkerLimits): Promise<unknown> {
  return threads.run(() => runInThread(task, limits), limits.signal)
}

async function runInThread(task: WorkerTask, limits: WorkerLimits): Promise<unknown> {
  const { signal, timeMs, memoryMb } = limits
  const worker = await takeWorker(memoryMb)
  let timer: NodeJS.Timeout | undefined
  let isWhole = false
  const off: (() => void)[] = []
  try {
    return await new Promise((resolve, reject) => {
      const onMessage = (message: WorkerMessage): void => {
        if (message.kind === 'begun') {
          if (timeMs !== undefined) timer = setTimeout(() => reject(new WorkerLimitError('time', limits)), timeMs)
          return
        }
        isWhole = true
        if (message.kind === 'done') resolve(message.value)
        else reject(errorOf(message))
      }
      const onError = (error: Error): void => {
        const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        reject(isMemory ? new WorkerLimitError('memory', limits) : error)
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

function errorOf({ message, code, details = {} }: Extract<WorkerMessage, { kind: 'failed' }>): Error {
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

/** Keeps one thread for the next task; it does not keep the process alive. */
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

/** Next to the bundled command or one folder up; in the library; for the source, in the built library. */
function workerFile(): URL {
  const here = dirname(fileURLToPath(import.meta.url))
  const places = [
    join(here, 'task-worker.js'),
    join(here, '../task-worker.js'),
    join(here, '../../dist/task-worker.js'),
  ].filter((file) => file !== fileURLToPath(import.meta.url))
  const file = places.find((place) => existsSync(place))
  if (file === undefined) throw new Error('task-worker.js is missing: build the library first')
  return pathToFileURL(file)
}
