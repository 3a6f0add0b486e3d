import { assemble } from './assembly.ts'
import { bridgeCode } from './bridge-code.ts'
import type { LuaExports, Pointer } from './exports.ts'
import { webAssembly } from './webassembly.ts'

/** JavaScript functions that Lua calls through a C function pointer. */
export interface BridgeCalls {
  /** Body of every host function (`lua_CFunction`). */
  readonly call: (thread: Pointer) => number
  /** Goes on after a wait (`lua_KFunction`); `context` is the number given to `lua_yieldk`. */
  readonly resumed: (thread: Pointer, status: number, context: number) => number
  /** Runs every thousand instructions (`lua_Hook`). */
  readonly hook: (thread: Pointer, record: Pointer) => void
  /** Takes a piece of a dumped function (`lua_Writer`); 0 goes on. */
  readonly write: (thread: Pointer, block: Pointer, size: number) => number
}

/** Functions for places in the function table, and API functions with 64-bit numbers narrowed, so that no BigInt is made. */
export interface Bridge {
  readonly call: unknown
  readonly resumed: unknown
  readonly hook: unknown
  readonly write: unknown
  readonly allocate: unknown
  readonly keys: unknown
  setElement(thread: Pointer, table: number, index: number): void
  /** Returns the type of the element. */
  getElement(thread: Pointer, table: number, index: number): number
  pushInteger(thread: Pointer, safeInteger: number): void
  rawLength(thread: Pointer, index: number): number
}

/**
 * A small WebAssembly module between Lua and JavaScript. It turns JavaScript functions into C function pointers, limits
 * memory without a call into JavaScript per allocation (spec/lua-engines.md 6 measured that at 2.6 times the cost),
 * collects keys for `pairs`, and narrows 64-bit arguments. It is assembled here, so that nothing has to be built.
 */
export function createBridge(lua: LuaExports, calls: BridgeCalls): Bridge {
  const { Module, Instance } = webAssembly()
  const instance = new Instance(new Module(assemble(bridgeCode)), { lua: { ...lua, ...calls } })
  return instance.exports as Bridge
}
