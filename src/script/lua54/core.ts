import type { LuaErrorDetails, LuaStateOptions, LuaValue } from '../engine.ts'
import type { Pointer } from './exports.ts'
import type { InstallPlan } from './install.ts'
import type { Interrupts } from './interrupts.ts'
import type { Meter } from './meter.ts'
import type { KnownModules } from './modules.ts'
import type { ChunkNames } from './names.ts'
import type { Position } from './position.ts'
import type { LuaWasm } from './wasm.ts'

export type Limit = NonNullable<LuaErrorDetails['limit']>

/** A WebAssembly instance and what is going on in it. */
export interface Runtime {
  readonly wasm: LuaWasm
  /** The prelude, compiled. */
  readonly prelude: Uint8Array
  readonly modules: KnownModules
  /** Where the host functions of the latest state went. */
  installed: InstallPlan | undefined
  /** Runs that end when a signal is aborted. */
  readonly aborts: Interrupts
  /** The state whose Lua code runs at this moment; host functions and hooks belong to it. */
  running: Core | undefined
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

/** One Lua state. */
export interface Core {
  readonly runtime: Runtime
  readonly options: LuaStateOptions
  readonly main: Pointer
  /** Record that counts its memory, see bridge.ts. */
  readonly accounting: Pointer
  readonly names: ChunkNames
  readonly meter: Meter
  readonly references: References
  /** Address of the metatable that marks lists. */
  readonly listMarker: Pointer
  /** Light userdata that a thread yields when it waits for a host function. */
  readonly waitMarker: Pointer
  /** What C functions other than the host functions do; the first has the number -1. */
  readonly calls: ((thread: Pointer) => number)[]
  readonly waits: Map<number, Wait>
  /** The latest errors of host functions: an uncaught one is found again by its text and becomes the `cause`. */
  readonly hostErrors: HostError[]
  /** Ends every suspended run when the state is closed. */
  readonly interrupts: Set<(reason: unknown) => void>
  /** Registry key of the prelude's `tostring`. */
  tostring: number
  nextWait: number
  /** Threads that the hook has stopped between two instructions: a coroutine, and then the one that resumed it. */
  readonly paused: Set<Pointer>
  limit: Limit | undefined
  limitPosition: Position | undefined
  /** How many times Lua code of this state is entered at this moment; more than one when a host function runs a chunk. */
  depth: number
  status: 'open' | 'closing' | 'closed'
}

/** Registry keys of values that the engine needs again. */
export interface References {
  readonly listMarker: number
  readonly runs: number
}
