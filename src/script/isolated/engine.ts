import { pathToFileURL } from 'node:url'
import type { LuaEngine } from '../engine.ts'
import { createInterrupts } from '../lua/interrupts.ts'
import { createThreadPool } from './pool.ts'
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
 * An engine whose states live in worker threads (DESIGN 7, "isolated mode"; spec/lua-engines.md 4.5 and 6): a script that
 * one native call keeps busy is ended at its time limit, and its heap is limited. Host functions run in the main thread.
 * A state behaves like one of the engine itself; what goes wrong in the thread rejects its runs with `LuaError`.
 */
export function createIsolatedEngine({ engine, wasmFile, workerFile }: IsolatedOptions): LuaEngine {
  const pool = createThreadPool({
    engine,
    wasmFile,
    workerFile: workerFile === undefined ? ownWorker() : pathToFileURL(workerFile),
  })
  const aborts = createInterrupts()
  return { name: engine, createState: (options) => createIsolatedState(options, { pool, aborts }) }
}

function ownWorker(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)
}
