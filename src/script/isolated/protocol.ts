import type { MessagePort } from 'node:worker_threads'
import type { HostFunction, LuaChunk, LuaErrorDetails, LuaLimits, LuaValue } from '../engine.ts'

type Values = readonly LuaValue[]

/** What a worker is started with. */
export interface WorkerSetup {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
  readonly clock: SharedArrayBuffer
  /** Answers to host calls arrive here, apart from all other messages. */
  readonly answers: MessagePort
}

/** From the main thread. A worker holds one state at a time. */
export type ToWorker =
  | {
      readonly kind: 'open'
      readonly functions: readonly Pick<HostFunction, 'path' | 'tables'>[]
      readonly modules: readonly LuaChunk[]
      readonly limits: LuaLimits
    }
  | {
      readonly kind: 'run'
      readonly run: number
      readonly chunk: LuaChunk
      readonly variables: { readonly [name: string]: LuaValue }
    }
  | { readonly kind: 'abort'; readonly run: number }
  /** A host function that had returned a promise is done. */
  | { readonly kind: 'settled'; readonly call: number; readonly outcome: Outcome }
  | { readonly kind: 'close' }

/** From the worker. */
export type FromWorker =
  | { readonly kind: 'opened' }
  /** The worker blocks until this is answered. `target` is the place in the list of functions. */
  | { readonly kind: 'call'; readonly call: number; readonly target: number; readonly args: Values }
  | { readonly kind: 'done'; readonly run: number; readonly outcome: Outcome }
  | { readonly kind: 'closed' }

/** What became of a host call or a run. */
export type Outcome =
  | { readonly kind: 'values'; readonly values: Values }
  | { readonly kind: 'failed'; readonly message: string; readonly details: SentDetails }

export type Answer = Outcome | { readonly kind: 'waits' }

/** `hostError` is the number of the host function's own error, which stays in the main thread. */
export type SentDetails = Omit<LuaErrorDetails, 'cause'> & { readonly hostError?: number | undefined }

/** The place in the list of functions that stands for the seed of `math.random`. */
export const seedTarget = -1

/**
 * Memory shared with a worker: the number of answers so far, on which a waiting worker sleeps; whether it waits now; and how
 * long it has waited in total.
 */
export interface WorkerClock {
  readonly cells: Int32Array
  readonly waitedMs: Float64Array
}

export const clockCells = { answers: 0, isWaiting: 1 } as const

export function clockOf(memory: SharedArrayBuffer): WorkerClock {
  return { cells: new Int32Array(memory, 0, 2), waitedMs: new Float64Array(memory, 8, 1) }
}

export function createClockMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(16)
}
