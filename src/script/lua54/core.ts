import type { LuaCore } from '../lua/core.ts'
import type { Interrupts } from '../lua/interrupts.ts'
import type { Position } from '../lua/position.ts'
import type { Pointer } from './exports.ts'
import type { InstallPlan } from './install.ts'
import type { KnownModules } from './modules.ts'
import type { LuaWasm } from './wasm.ts'

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

/** One Lua state. */
export interface Core extends LuaCore<Pointer> {
  readonly runtime: Runtime
  /** Record that counts its memory, see bridge.ts. */
  readonly accounting: Pointer
  /** Address of the metatable that marks lists. */
  readonly listMarker: Pointer
  /** Light userdata that a thread yields when it waits for a host function. */
  readonly waitMarker: Pointer
  /** What C functions other than the host functions do; the first has the number -1. */
  readonly calls: ((thread: Pointer) => number)[]
  limitPosition: Position | undefined
}
