import { pathToFileURL } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { LuaEngine } from '../engine.ts'
import { type Answer, clockCells, clockOf, createClockMemory, type FromWorker, type ToWorker } from './protocol.ts'
import { createIsolatedState } from './state.ts'

export interface IsolatedOptions {
  /** The engine that runs in the threads. */
  readonly engine: 'lua54' | 'fengari'
  /** Absolute path of Lua's wasm file, see `Lua54Options`. */
  readonly wasmFile?: string
  /** Absolute path of the compiled worker.ts. Without it the one next to this file is used. */
  readonly workerFile?: string
}

/**
 * An engine whose states live in worker threads: a script that one native call keeps busy is ended at its time limit, and its
 * heap is limited. Host functions run in the main thread. A state behaves like one of the engine itself; a failure of the
 * thread rejects its runs with `LuaError`.
 */
export function createIsolatedEngine({ engine, wasmFile, workerFile }: IsolatedOptions): LuaEngine {
  const pool = createThreadPool({
    engine,
    wasmFile,
    workerFile: workerFile === undefined ? new URL(ownWorker, import.meta.url) : pathToFileURL(workerFile),
  })
  return { name: engine, createState: (options) => createIsolatedState(options, pool) }
}

const ownWorker = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'

/** Idle threads are kept for the next states: starting one takes longer than most scripts. */
const idleThreads = 2
const idleMs = 10_000

export interface ThreadPool {
  /** A thread without a state whose heap may hold this much. */
  take(heapMb: number): Thread
  /** Gives back a thread whose state has confirmed that it is closed. */
  give(thread: Thread): void
}

function createThreadPool(options: Omit<ThreadOptions, 'heapMb'>): ThreadPool {
  const idle = new Map<Thread, NodeJS.Timeout>()

  const remove = (thread: Thread): void => {
    clearTimeout(idle.get(thread))
    idle.delete(thread)
  }
  const drop = (thread: Thread): void => {
    remove(thread)
    thread.terminate(new Error('the thread is no longer needed'))
  }
  return {
    take(heapMb) {
      const kept = [...idle.keys()].find((thread) => thread.options.heapMb === heapMb)
      if (kept === undefined) return startThread({ ...options, heapMb })
      remove(kept)
      return kept
    },
    give(thread) {
      thread.assign({ onMessage: () => undefined, onEnd: () => remove(thread) })
      thread.assign(undefined)
      idle.set(thread, setTimeout(() => drop(thread), idleMs).unref())
      const [oldest] = idle.keys()
      if (idle.size > idleThreads && oldest !== undefined) drop(oldest)
    },
  }
}

interface ThreadOptions {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
  readonly workerFile: URL
  readonly heapMb: number
}

/** The state that uses a thread. */
interface ThreadUser {
  onMessage(message: FromWorker): void
  /** The thread is gone. */
  onEnd(error: Error): void
}

/** One worker thread with an engine in it. */
export interface Thread {
  readonly options: ThreadOptions
  /** Undefined makes the thread idle: the process can exit while it waits. */
  assign(user: ThreadUser | undefined): void
  post(message: ToWorker): void
  /** Wakes the thread with the answer to its call. Throws when the answer cannot be copied. */
  answer(answer: Answer): void
  /** Milliseconds the thread has worked. Includes the time of a wait for an answer until that is over. */
  workedMs(): number
  isWaiting(): boolean
  /** Stops it at once, whatever it does. */
  terminate(error: Error): void
}

function startThread(options: ThreadOptions): Thread {
  const memory = createClockMemory()
  const { cells, waitedMs } = clockOf(memory)
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(options.workerFile, {
    workerData: { engine: options.engine, wasmFile: options.wasmFile, clock: memory, answers: port2 },
    transferList: [port2],
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    // scripts see nothing of the environment
    env: {},
  })
  let user: ThreadUser | undefined
  const end = (error: Error): void => {
    port1.close()
    const last = user
    user = undefined
    last?.onEnd(error)
  }
  worker.on('message', (message: FromWorker) => user?.onMessage(message))
  worker.on('error', end)
  worker.on('exit', (code) => end(new Error(`the thread of the Lua engine ended with code ${code}`)))
  return {
    options,
    assign(next) {
      user = next
      if (next === undefined) worker.unref()
      else worker.ref()
    },
    post: (message) => worker.postMessage(message),
    answer(answer) {
      port1.postMessage(answer)
      Atomics.add(cells, clockCells.answers, 1)
      Atomics.notify(cells, clockCells.answers)
    },
    workedMs: () => worker.performance.eventLoopUtilization().active - (waitedMs[0] ?? 0),
    isWaiting: () => Atomics.load(cells, clockCells.isWaiting) !== 0,
    terminate(error) {
      end(error)
      void worker.terminate()
    },
  }
}
