import type { WasmMemory, WasmTable } from './webassembly.ts'

/** An address in the memory of the WebAssembly instance. */
export type Pointer = number

/** The functions of Lua's C API (5.4) that this engine calls, as the wasm exports them: `int` and pointers are numbers. */
export interface LuaExports {
  readonly memory: WasmMemory
  readonly __indirect_function_table: WasmTable

  __wasm_call_ctors(): void
  emscripten_stack_init(): void
  stackSave(): Pointer
  stackRestore(stack: Pointer): void
  setThrew(threw: number, value: number): void
  malloc(bytes: number): Pointer
  free(block: Pointer): void

  lua_newstate(allocator: Pointer, userdata: Pointer): Pointer
  lua_close(state: Pointer): void
  lua_newthread(state: Pointer): Pointer
  lua_resume(thread: Pointer, from: Pointer, argumentCount: number, resultCount: Pointer): number
  lua_yieldk(thread: Pointer, resultCount: number, context: number, continuation: Pointer): number
  lua_isyieldable(thread: Pointer): number
  lua_pcallk(
    thread: Pointer,
    argumentCount: number,
    resultCount: number,
    handler: number,
    context: number,
    continuation: Pointer,
  ): number
  lua_error(thread: Pointer): number
  lua_sethook(thread: Pointer, hook: Pointer, mask: number, count: number): void
  lua_getstack(thread: Pointer, level: number, record: Pointer): number
  lua_getinfo(thread: Pointer, what: Pointer, record: Pointer): number
  luaL_traceback(target: Pointer, thread: Pointer, message: Pointer, level: number): void
  luaL_where(thread: Pointer, level: number): void
  luaL_loadbufferx(thread: Pointer, text: Pointer, length: number, name: Pointer, mode: Pointer): number
  lua_dump(thread: Pointer, writer: Pointer, userdata: Pointer, strip: number): number
  luaL_requiref(thread: Pointer, name: Pointer, open: Pointer, global: number): void

  lua_gettop(thread: Pointer): number
  lua_settop(thread: Pointer, index: number): void
  lua_absindex(thread: Pointer, index: number): number
  lua_pushvalue(thread: Pointer, index: number): void
  lua_rotate(thread: Pointer, index: number, count: number): void
  lua_checkstack(thread: Pointer, slots: number): number
  lua_xmove(from: Pointer, to: Pointer, count: number): void
  lua_concat(thread: Pointer, count: number): void

  lua_type(thread: Pointer, index: number): number
  lua_typename(thread: Pointer, type: number): Pointer
  lua_isinteger(thread: Pointer, index: number): number
  lua_toboolean(thread: Pointer, index: number): number
  lua_tonumberx(thread: Pointer, index: number, isNumber: Pointer): number
  lua_tointegerx(thread: Pointer, index: number, isNumber: Pointer): bigint
  lua_tolstring(thread: Pointer, index: number, length: Pointer): Pointer
  lua_touserdata(thread: Pointer, index: number): Pointer
  lua_tothread(thread: Pointer, index: number): Pointer
  lua_topointer(thread: Pointer, index: number): Pointer

  lua_pushnil(thread: Pointer): void
  lua_pushboolean(thread: Pointer, value: number): void
  lua_pushnumber(thread: Pointer, value: number): void
  lua_pushinteger(thread: Pointer, value: bigint): void
  lua_pushlstring(thread: Pointer, text: Pointer, length: number): Pointer
  lua_pushlightuserdata(thread: Pointer, value: Pointer): void
  lua_pushcclosure(thread: Pointer, call: Pointer, upvalues: number): void

  lua_createtable(thread: Pointer, listSize: number, recordSize: number): void
  lua_rawget(thread: Pointer, index: number): number
  lua_rawset(thread: Pointer, index: number): void
  lua_next(thread: Pointer, index: number): number
  lua_getmetatable(thread: Pointer, index: number): number
  lua_setmetatable(thread: Pointer, index: number): number
  lua_setupvalue(thread: Pointer, index: number, upvalue: number): Pointer
  luaL_ref(thread: Pointer, table: number): number
  luaL_unref(thread: Pointer, table: number, reference: number): void
}
