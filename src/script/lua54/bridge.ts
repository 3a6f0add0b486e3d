import type { Thread } from '../lua/api.ts'
import { bridgeModule, calledByBridge } from './bridge-code.ts'
import { type LuaExports, type Pointer, webAssembly } from './webassembly.ts'

/** JavaScript functions that Lua calls through a C function pointer. */
export interface BridgeCalls {
  /** Body of every host function (`lua_CFunction`). */
  readonly call: (thread: Pointer) => number
  /** Continues after a wait (`lua_KFunction`); `context` is the number given to `lua_yieldk`. */
  readonly resumed: (thread: Pointer, status: number, context: number) => number
  /** Runs every thousand instructions (`lua_Hook`). */
  readonly hook: (thread: Pointer, record: Pointer) => void
  /** Takes a piece of a dumped function (`lua_Writer`); returning 0 continues. */
  readonly write: (thread: Pointer, block: Pointer, size: number) => number
}

/** Functions for the function table, and API functions with 64-bit numbers narrowed, so that no BigInt is created. */
export interface Bridge {
  readonly call: unknown
  readonly resumed: unknown
  readonly hook: unknown
  readonly write: unknown
  readonly allocate: unknown
  readonly keys: unknown
  readonly setElement: (thread: Thread, table: number, index: number) => void
  readonly getElement: (thread: Thread, table: number, index: number) => void
  readonly pushInteger: (thread: Thread, safeInteger: number) => void
  readonly rawLength: (thread: Thread, index: number) => number
}

/**
 * A small WebAssembly module between Lua and JavaScript. It turns JavaScript functions into C function pointers, limits
 * memory without a call into JavaScript per allocation (which would take 2.6 times as long), collects keys for `pairs`,
 * and narrows 64-bit arguments.
 */
export function createBridge(lua: LuaExports, calls: BridgeCalls): Bridge {
  const { Module, Instance, Global } = webAssembly()
  const table = lua.__indirect_function_table
  const first = table.grow(calledByBridge.length)
  const exported = lua as unknown as Readonly<Record<string, unknown>>
  for (const [index, name] of calledByBridge.entries()) table.set(first + index, exported[name])
  const host = { memory: lua.memory, table, first: new Global({ value: 'i32' }, first), ...calls }
  return new Instance(new Module(bridgeModule()), { host }).exports as Bridge
}
