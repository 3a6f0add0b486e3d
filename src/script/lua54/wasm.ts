import { registry, type Thread } from '../lua/api.ts'
import type { Health } from '../lua/core.ts'
import type { LuaCallbacks } from '../lua/state.ts'
import { absentModule } from './absent-code.ts'
import type { CompiledModule, WasmMemory } from './webassembly.ts'
import { type LuaExports, type Pointer, webAssembly } from './webassembly.ts'
import { bridgeModule, calledByBridge } from './bridge-code.ts'

/** Thrown through WebAssembly frames instead of C's `longjmp`. Every catch must rethrow it. */
export const longJump: unique symbol = Symbol('longjmp')

/** One instance of the Lua library: its memory holds any number of Lua states. */
export interface LuaWasm {
  readonly lua: LuaExports
  readonly bridge: Bridge
  /** C function pointers: indexes in the function table of the instance. */
  readonly pointers: ReturnType<typeof placeFunctions>
  /** The memory as bytes; must be read again after anything that may allocate. */
  readonly bytes: () => Uint8Array<ArrayBuffer>
  /** A 32-bit cell of the memory. */
  readonly read32: (address: Pointer) => number
  readonly write32: (address: Pointer, value: number) => void
  /** A C string that exists as long as the instance. */
  readonly constant: (text: string) => Constant
  /** A buffer for short strings passed to Lua, and a cell for results returned through pointers. */
  readonly scratch: { readonly address: Pointer; readonly size: number }
  readonly cell: Pointer
  /** Bytes of the function that `lua_dump` is writing; api.ts takes them out. */
  readonly dumped: number[]
  readonly health: Health
}

interface Constant {
  readonly address: Pointer
  readonly length: number
}

const libraries = [
  ['_G', 'luaopen_base'],
  ['coroutine', 'luaopen_coroutine'],
  ['table', 'luaopen_table'],
  ['string', 'luaopen_string'],
  ['math', 'luaopen_math'],
  ['utf8', 'luaopen_utf8'],
  ['debug', 'luaopen_debug'],
] as const

/** A C function of ours has its number as its only upvalue. */
const firstUpvalue = registry - 1
const pageBytes = 65_536
const scratchBytes = 16_384

/**
 * Creates a Lua instance from the compiled wasm file of the package `wasmoon`. The library was built with emscripten;
 * the few functions it needs from outside are provided here, so the package's own JavaScript is not used.
 */
export function instantiate(module: CompiledModule, callbacks: LuaCallbacks): LuaWasm {
  const health = { isBroken: false, canBreak: true }
  const lua = instantiateLua(module)
  const dumped: number[] = []
  const calls: BridgeCalls = {
    call: (thread) => callbacks.call(thread, lua.lua_tonumberx(thread, firstUpvalue, 0)),
    resumed: (thread, _status, id) => callbacks.continue(thread, id),
    hook: callbacks.hook,
    write(_thread, block, size) {
      for (const byte of bytes().subarray(block, block + size)) dumped.push(byte)
      return 0
    },
  }
  const bridge = createBridge(lua, calls)
  const scratch = { address: lua.malloc(scratchBytes), size: scratchBytes }
  const cell = lua.malloc(8)
  const constants = new Map<string, Constant>()
  let view = new Uint8Array(lua.memory.buffer)
  let cells = new Int32Array(lua.memory.buffer)

  const refresh = (): void => {
    if (view.buffer === lua.memory.buffer) return
    view = new Uint8Array(lua.memory.buffer)
    cells = new Int32Array(lua.memory.buffer)
  }
  const bytes = (): Uint8Array<ArrayBuffer> => {
    refresh()
    return view
  }
  const constant = (text: string): Constant => {
    const known = constants.get(text)
    if (known !== undefined) return known
    const encoded = Buffer.from(`${text}\0`, 'utf8')
    const added = { address: lua.malloc(encoded.length), length: encoded.length - 1 }
    bytes().set(encoded, added.address)
    constants.set(text, added)
    return added
  }
  const read32 = (address: Pointer): number => {
    refresh()
    return cells[address >>> 2] ?? 0
  }
  const write32 = (address: Pointer, value: number): void => {
    refresh()
    cells[address >>> 2] = value
  }
  const pointers = placeFunctions(lua, bridge)
  return { lua, bridge, pointers, bytes, read32, write32, constant, scratch, cell, dumped, health }
}

function instantiateLua(module: CompiledModule): LuaExports {
  const { Module, Instance } = webAssembly()
  const absent = new Instance(new Module(absentModule()), {}).exports as object
  const functions: ((first: number, second: number) => void)[] = []
  const provided = {
    // A C++-style call that longjmp may leave. Lua uses it for every protected call.
    invoke_vii: (pointer: Pointer, first: number, second: number): void => {
      const stack = lua.stackSave()
      try {
        const target = (functions[pointer] ??= lua.__indirect_function_table.get(pointer))
        target(first, second)
      } catch (error) {
        lua.stackRestore(stack)
        if (error !== longJump) throw error
        lua.setThrew(1, 0)
      }
    },
    _emscripten_throw_longjmp: (): void => {
      throw longJump
    },
    emscripten_resize_heap: (wanted: number): number => growMemory(lua.memory, wanted >>> 0),
  }
  const imports = { env: { ...absent, ...provided }, wasi_snapshot_preview1: absent }
  const lua = new Instance(module, imports).exports as LuaExports
  lua.emscripten_stack_init()
  lua.__wasm_call_ctors()
  return lua
}

/** Grows by at least a quarter, so that a growing script does not grow the memory page by page. */
function growMemory(memory: WasmMemory, wanted: number): number {
  const present = memory.buffer.byteLength
  for (const size of [Math.max(wanted, present * 1.25), wanted]) {
    try {
      memory.grow(Math.ceil((size - present) / pageBytes))
      return 1
    } catch {
      // The engine refused; a smaller step may work, otherwise malloc reports that there is no memory.
    }
  }
  return 0
}

function placeFunctions(lua: LuaExports, bridge: Bridge) {
  const table = lua.__indirect_function_table
  const place = (target: unknown): Pointer => {
    const pointer = table.grow(1)
    table.set(pointer, target)
    return pointer
  }
  const exported = lua as unknown as Readonly<Record<string, unknown>>
  return {
    call: place(bridge.call),
    resumed: place(bridge.resumed),
    hook: place(bridge.hook),
    write: place(bridge.write),
    allocate: place(bridge.allocate),
    keys: place(bridge.keys),
    libraries: libraries.map(([name, open]) => ({ name, open: place(exported[open]) })),
  }
}

/** JavaScript functions that Lua calls through a C function pointer. */
interface BridgeCalls {
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
interface Bridge {
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
function createBridge(lua: LuaExports, calls: BridgeCalls): Bridge {
  const { Module, Instance, Global } = webAssembly()
  const table = lua.__indirect_function_table
  const first = table.grow(calledByBridge.length)
  const exported = lua as unknown as Readonly<Record<string, unknown>>
  for (const [index, name] of calledByBridge.entries()) table.set(first + index, exported[name])
  const host = { memory: lua.memory, table, first: new Global({ value: 'i32' }, first), ...calls }
  return new Instance(new Module(bridgeModule()), { host }).exports as Bridge
}
