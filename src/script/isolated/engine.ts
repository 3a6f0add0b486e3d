import { pathToFileURL } from 'node:url'
import type { LuaEngine } from '../engine.ts'
import { startThread, type Thread as WorkerThread } from '../thread/thread.ts'
import type { Answer, FromWorker, ToWorker } from './protocol.ts'
import { createIsolatedState } from './state.ts'

export interface IsolatedOptions {
  /** The engine that runs inside the threads. */
  readonly engine: 'lua54' | 'fengari'
  /** Absolute path of Lua's wasm file; see `Lua54Options`. */
  readonly wasmFile?: string
  /** Absolute path of the compiled worker.ts. Default: the one next to this file. */
  readonly workerFile?: string
}

/**
 * An engine whose states live in worker threads: a script that is stuck in one native call is ended at its time limit,
 * and its heap is limited. Host functions run in the main thread. A state behaves like a state of the inner engine; if
 * its thread fails, its runs reject with `LuaError`.
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

/** Idle threads are kept for later states: starting one takes longer than most scripts. */
const idleThreads = 2
const idleMs = 10_000

export interface ThreadPool {
  /** A thread without a state, with this heap limit. */
  take(heapMb: number): Thread
  /** Returns a thread whose state has confirmed that it is closed. */
  give(thread: Thread): void
}

function createThreadPool(options: EngineOptions): ThreadPool {
  const idle = new Map<Thread, NodeJS.Timeout>()

  const remove = (thread: Thread): void => {
    clearTimeout(idle.get(thread))
    idle.delete(thread)
  }
  const drop = (thread: Thread): void => {
    remove(thread)
    void thread.terminate(new Error('the thread is no longer needed'))
  }
  return {
    take(heapMb) {
      const kept = [...idle.keys()].find((thread) => thread.heapMb === heapMb)
      if (kept === undefined) return startEngine(options, heapMb)
      remove(kept)
      return kept
    },
    give(thread) {
      thread.release(() => remove(thread))
      idle.set(thread, setTimeout(() => drop(thread), idleMs).unref())
      const [oldest] = idle.keys()
      if (idle.size > idleThreads && oldest !== undefined) drop(oldest)
    },
  }
}

interface EngineOptions {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
  readonly workerFile: URL
}

/** One worker thread with an engine in it. */
export interface Thread extends EngineThread {
  readonly heapMb: number
}

type EngineThread = WorkerThread<ToWorker, FromWorker, Answer>

function startEngine({ workerFile, ...setup }: EngineOptions, heapMb: number): Thread {
  const limits = { maxOldGenerationSizeMb: heapMb }
  const thread: EngineThread = startThread({ file: workerFile, name: 'the Lua engine', setup, limits })
  return { ...thread, heapMb }
}
