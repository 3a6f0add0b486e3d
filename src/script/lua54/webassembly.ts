import { BatonError } from '../../base/error.ts'
import type { CommonApi, Thread } from '../lua/api.ts'

/** The used part of WebAssembly; Node's type definitions do not describe it. */
export interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => CompiledModule
  readonly Instance: new (module: CompiledModule, imports: object) => { readonly exports: unknown }
  readonly Global: new (type: { readonly value: 'i32' }, value: number) => object
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory
}

declare const compiled: unique symbol

export interface CompiledModule {
  readonly [compiled]: true
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** An address in the memory of the WebAssembly instance. */
export type Pointer = number

/**
 * Functions of Lua's C API (5.4) that only the wasm file has, in addition to those both engines share: pointers are
 * numbers.
 */
export interface LuaExports extends CommonApi {
  readonly memory: WasmMemory
  readonly __indirect_function_table: WasmTable

  __wasm_call_ctors(): void
  emscripten_stack_init(): void
  stackSave(): Pointer
  stackRestore(stack: Pointer): void
  setThrew(threw: number, value: number): void
  malloc(bytes: number): Pointer
  free(block: Pointer): void

  lua_close(state: Thread): void
  lua_dump(thread: Thread, writer: Pointer, userdata: Pointer, strip: number): number
  lua_getinfo(thread: Thread, what: Pointer, record: Pointer): number
  lua_getstack(thread: Thread, level: number, record: Pointer): number
  lua_newstate(allocator: Pointer, userdata: Pointer): Pointer
  lua_pcallk(
    thread: Thread,
    argumentCount: number,
    resultCount: number,
    handler: number,
    context: number,
    continuation: Pointer,
  ): number
  lua_pushcclosure(thread: Thread, call: Pointer, upvalues: number): void
  lua_pushinteger(thread: Thread, value: bigint): void
  lua_pushlstring(thread: Thread, text: Pointer, length: number): Pointer
  lua_resume(thread: Thread, from: Pointer, argumentCount: number, resultCount: Pointer): number
  lua_sethook(thread: Thread, hook: Pointer, mask: number, count: number): void
  lua_tointegerx(thread: Thread, index: number, isNumber: Pointer): bigint
  lua_tolstring(thread: Thread, index: number, length: Pointer): Pointer
  lua_tonumberx(thread: Thread, index: number, isNumber: Pointer): number
  lua_typename(thread: Thread, type: number): Pointer
  lua_yieldk(thread: Thread, resultCount: number, context: number, continuation: Pointer): number
  luaL_loadbufferx(thread: Thread, text: Pointer, length: number, name: Pointer, mode: Pointer): number
  luaL_requiref(thread: Thread, name: Pointer, open: Pointer, global: number): void
  luaL_traceback(target: Thread, thread: Thread, message: Pointer, level: number): void
}

interface WasmTable {
  get(index: number): (first: number, second: number) => void
  set(index: number, target: unknown): void
  /** Returns the previous length. */
  grow(slots: number): number
}

/** The WebAssembly of this process. Throws `NOT_AVAILABLE` if there is none (for example `node --jitless`). */
export function webAssembly(): WebAssemblyHost {
  const found = (globalThis as unknown as { readonly WebAssembly?: WebAssemblyHost }).WebAssembly
  if (found !== undefined) return found
  throw new BatonError('NOT_AVAILABLE', 'the Lua 5.4 engine needs WebAssembly, which this Node.js runs without', {
    hint: 'start Node.js without --jitless',
  })
}
