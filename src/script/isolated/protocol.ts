import type { HostFunction, LuaChunk, LuaErrorDetails, LuaLimits, LuaValue } from '../engine.ts'
import type { ThreadSetup } from '../thread/thread.ts'

type Values = readonly LuaValue[]

/** What a worker is started with. */
export interface WorkerSetup extends ThreadSetup {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
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
  /** The promise that a host function returned has settled. */
  | { readonly kind: 'settled'; readonly call: number; readonly outcome: Outcome }
  | { readonly kind: 'close' }

/** From the worker. */
export type FromWorker =
  | { readonly kind: 'opened' }
  /** The worker blocks until this is answered. `target` is the index in the list of functions. */
  | { readonly kind: 'call'; readonly call: number; readonly target: number; readonly args: Values }
  | { readonly kind: 'done'; readonly run: number; readonly outcome: Outcome }
  | { readonly kind: 'closed' }

/** The outcome of a host call or a run. */
export type Outcome =
  | { readonly kind: 'values'; readonly values: Values }
  | { readonly kind: 'failed'; readonly message: string; readonly details: SentDetails }

export type Answer = Outcome | { readonly kind: 'waits' }

/** `hostError` is the number of the host function's own error, which stays in the main thread. */
export type SentDetails = Omit<LuaErrorDetails, 'cause'> & { readonly hostError?: number | undefined }

/** The index in the list of functions that stands for the seed of `math.random`. */
export const seedTarget = -1
