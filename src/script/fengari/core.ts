import type { LuaErrorDetails, LuaStateOptions, LuaValue } from '../engine.ts'
import type { Interrupts } from '../lua/interrupts.ts'
import type { ChunkNames } from '../lua/names.ts'
import type { Library, LuaApi, LuaThread } from './api.ts'
import type { Position } from './position.ts'

export type Limit = NonNullable<LuaErrorDetails['limit']>

/** What the states of one engine share. */
export interface Runtime {
  readonly library: Library
  /** The prelude, compiled and without line information. */
  readonly prelude: Uint8Array
  /** Runs that end when a signal is aborted. */
  readonly aborts: Interrupts
}

/** A host function that has returned a promise, and what became of it. */
export interface Wait {
  readonly path: string
  readonly settled: Promise<void>
  outcome:
    | { readonly kind: 'pending' }
    | { readonly kind: 'values'; readonly values: readonly LuaValue[] }
    | { readonly kind: 'failed'; readonly error: unknown }
}

/** An error of a host function as Lua saw it. */
interface HostError {
  readonly text: string
  readonly error: unknown
}

/** How long and how much the Lua code of a state has run. */
export interface Meter {
  usedMs: number
  /** When the code that runs now was entered or went on after a host function, in milliseconds. */
  startedAt: number
  /** When Lua last came out of the event loop. */
  resumedAt: number
  thousands: number
}

/** One Lua state. */
export interface Core {
  readonly runtime: Runtime
  readonly api: LuaApi
  readonly options: LuaStateOptions
  readonly main: LuaThread
  readonly names: ChunkNames
  readonly meter: Meter
  readonly references: References
  /** The metatable that marks lists, and the light userdata that stand for null and for a wait, by identity. */
  readonly listMarker: unknown
  readonly nullValue: object
  readonly waitMarker: object
  readonly waits: Map<number, Wait>
  /** The latest errors of host functions: an uncaught one is found again by its text and becomes the `cause`. */
  readonly hostErrors: HostError[]
  /** Ends every suspended run when the state is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  /** Threads that the hook has stopped between two instructions: a coroutine, and then the one that resumed it. */
  readonly paused: Set<LuaThread>
  /** Memory outside the JavaScript heap that the process held when the state was made, in bytes. */
  readonly externalAtStart: number
  /** Registry key of the prelude's `tostring`. */
  tostring: number
  nextWait: number
  limit: Limit | undefined
  /** Where the limit was reached, which a stopped thread no longer tells. */
  limitPlace: { readonly position: Position | undefined; readonly traceback: string } | undefined
  /** How many times Lua code of this state is entered at this moment; more than one when a host function runs a chunk. */
  depth: number
  status: 'open' | 'closed'
}

/** Registry keys of values that the engine needs again. */
interface References {
  readonly listMarker: number
  readonly runs: number
}
