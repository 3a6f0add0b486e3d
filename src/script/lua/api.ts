/** A Lua thread (`lua_State`): an address in WebAssembly, an object of fengari. */
export type Thread = number | object
/** A C boolean, for conditions only: WebAssembly returns 0 and 1, fengari false and true. */
type Truth = number | boolean

/** `lua_type` codes. These numbers and the others here are the same in Lua 5.3 and 5.4. */
export const luaType = {
  none: -1,
  nil: 0,
  boolean: 1,
  lightUserdata: 2,
  number: 3,
  string: 4,
  table: 5,
} as const

/** Returned by resuming a thread, a protected call and loading; everything above `yield` is an error. */
export const luaStatus = { ok: 0, yield: 1, memoryError: 4 } as const

/** Pseudo index of the registry table; upvalue n of a running C function is at `registry - n`. */
export const registry = -1_001_000
/** Key of the globals in the registry. */
export const registryGlobals = 2
/** Hook mask: call the hook after a number of instructions. */
export const countMask = 8

/** Functions of Lua's C API that both engines offer under the same name and with the same meaning. */
export interface CommonApi {
  lua_absindex(thread: Thread, index: number): number
  lua_checkstack(thread: Thread, slots: number): Truth
  lua_concat(thread: Thread, count: number): void
  lua_createtable(thread: Thread, listSize: number, recordSize: number): void
  lua_error(thread: Thread): number
  lua_getmetatable(thread: Thread, index: number): Truth
  lua_gettop(thread: Thread): number
  lua_isinteger(thread: Thread, index: number): Truth
  lua_isyieldable(thread: Thread): Truth
  lua_newthread(thread: Thread): Thread
  lua_next(thread: Thread, index: number): Truth
  lua_pushboolean(thread: Thread, value: Truth): void
  lua_pushlightuserdata(thread: Thread, value: unknown): void
  lua_pushnil(thread: Thread): void
  lua_pushnumber(thread: Thread, value: number): void
  lua_pushvalue(thread: Thread, index: number): void
  lua_rawget(thread: Thread, index: number): number
  lua_rawset(thread: Thread, index: number): void
  lua_rotate(thread: Thread, index: number, count: number): void
  lua_setmetatable(thread: Thread, index: number): void
  lua_settop(thread: Thread, index: number): void
  lua_setupvalue(thread: Thread, index: number, upvalue: number): void
  lua_toboolean(thread: Thread, index: number): Truth
  /** The identity of a table. */
  lua_topointer(thread: Thread, index: number): unknown
  lua_tothread(thread: Thread, index: number): Thread | null
  lua_touserdata(thread: Thread, index: number): unknown
  lua_type(thread: Thread, index: number): number
  lua_xmove(from: Thread, to: Thread, count: number): void
  luaL_ref(thread: Thread, table: number): number
  luaL_unref(thread: Thread, table: number, reference: number): void
  luaL_where(thread: Thread, level: number): void
}

/** A chunk with the name passed to Lua: `@` before a file name, `=` before a name that is not a file. */
export interface NamedText {
  readonly name: string
  readonly text: string
}

/**
 * Everything the shared code needs from an engine. Names with `lua` are C functions, without parameters that are always
 * the same; the others take or return JavaScript values, which each engine converts in its own way.
 */
export interface LuaApi extends CommonApi {
  /** The light userdata that stands for null, and the one that a coroutine yields while a host function waits. */
  readonly nullValue: unknown
  readonly waitMarker: unknown

  lua_pcall(thread: Thread, argumentCount: number, resultCount: number): number
  lua_rawgeti(thread: Thread, index: number, key: number): void
  lua_rawlen(thread: Thread, index: number): number
  lua_rawseti(thread: Thread, index: number, key: number): void
  lua_resume(thread: Thread): number
  lua_tonumber(thread: Thread, index: number): number

  /** Pushes text as UTF-8, or bytes unchanged. NUL is an ordinary byte. */
  pushText(thread: Thread, text: string | Uint8Array): void
  /** Pushes text that many states push, such as the name of a host function. The engine may keep it. */
  pushName(thread: Thread, name: string): void
  /** The string at `index` as text, or as bytes when it is not UTF-8. It must be a string: a number would be changed in place. */
  readText(thread: Thread, index: number): string | Uint8Array
  /** The string at `index` for display: bytes that are not UTF-8 become the replacement character. */
  readMessage(thread: Thread, index: number): string
  typeName(thread: Thread, type: number): string
  /** Pushes an integer if the engine's integers can hold the value, otherwise a float. */
  pushNumber(thread: Thread, value: number | bigint): void
  readNumber(thread: Thread, index: number): number | bigint

  /** Pushes a C function that runs `callByNumber` with this number. */
  pushCall(thread: Thread, number: number): void
  /** Pushes `keys(t, border)` of the prelude. */
  pushKeys(thread: Thread): void
  /** Yields the two values on top from a C function. When the thread is resumed, `continueCall` finishes the call. */
  yieldCall(thread: Thread, id: number): number
  yieldHook(thread: Thread): void
  /** Calls the hook each time this many instructions have run, also in threads created from this one. */
  setHook(thread: Thread, instructions: number): void
  /** True for an exception that Lua throws through JavaScript frames instead of `longjmp`. It must be rethrown. */
  isJump(thread: Thread, error: unknown): boolean

  /** Compiles Lua text and pushes its main function, or the error. Returns `luaStatus`. Binary chunks are refused. */
  loadText(thread: Thread, chunk: NamedText): number
  /**
   * Pushes the main function of a binary chunk. Returns `luaStatus`. Only for output of `dump`: crafted binary chunks can
   * corrupt the memory of Lua.
   */
  loadDumped(thread: Thread, code: Uint8Array): number
  /** The Lua function on top of the stack as a binary chunk, with or without its name and lines. */
  dump(thread: Thread, options: { readonly lines: 'keep' | 'omit' }): Uint8Array

  /**
   * A function on a thread's stack; level 0 is the innermost. `line` is below 1 if unknown. Undefined past the
   * outermost.
   */
  frameAt(thread: Thread, level: number): { readonly source: string; readonly line: number } | undefined
  /** Pushes the traceback of `thread` onto the stack of `target`. */
  pushTraceback(target: Thread, thread: Thread): void
  /** Whether the frames of a thread are intact after `yieldHook`. */
  readonly keepsFrames: boolean
}
