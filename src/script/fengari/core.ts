import type { LuaCore } from '../lua/core.ts'
import type { Interrupts } from '../lua/interrupts.ts'
import type { Position } from '../lua/position.ts'
import type { Library, LuaApi, LuaThread } from './api.ts'

/** What the states of one engine share. */
export interface Runtime {
  readonly library: Library
  /** The prelude, compiled and without line information. */
  readonly prelude: Uint8Array
  /** Runs that end when a signal is aborted. */
  readonly aborts: Interrupts
}

/** One Lua state. */
export interface Core extends LuaCore<LuaThread> {
  readonly runtime: Runtime
  readonly api: LuaApi
  /** The metatable that marks lists, and the light userdata that stand for null and for a wait, by identity. */
  readonly listMarker: unknown
  readonly nullValue: object
  readonly waitMarker: object
  /** Memory outside the JavaScript heap that the process held when the state was made, in bytes. */
  readonly externalAtStart: number
  /** Where the limit was reached, which a stopped thread no longer tells. */
  limitPlace: { readonly position: Position | undefined; readonly traceback: string } | undefined
}
