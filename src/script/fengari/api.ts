/** A Lua thread (`lua_State`). All threads of a state share their `l_G`. */
export interface LuaThread {
  readonly l_G: StateGlobals
}

/** What all threads of one state share. `account` is this engine's own addition (patch.ts). */
interface StateGlobals {
  account?: StringAccount
}

/** Counts the bytes of strings a state makes. */
export interface StringAccount {
  /** A single string may not be longer. */
  readonly longest: number
  /** Bytes until `check` is called next. */
  remaining: number
  /** Called when `remaining` is used up, and for a string that is too long. It may leave by throwing. */
  readonly check: (thread: LuaThread, length: number) => void
}

/** `lua_CFunction`: takes its arguments from the stack and returns how many results it has pushed. */
export type NativeFunction = (thread: LuaThread) => number

/** Record that `lua_getstack` and `lua_getinfo` fill. */
interface DebugRecord {
  readonly currentline: number
  readonly short_src: Uint8Array | null
}

/**
 * The functions of Lua's C API (5.3) that this engine uses. Strings are bytes. Whatever raises a Lua error throws a plain
 * object, which is no `Error` and must be let through.
 */
export interface LuaApi {
  readonly lua_Debug: new () => DebugRecord
  luaL_newstate(): LuaThread | null
  lua_newthread(thread: LuaThread): LuaThread
  lua_resume(thread: LuaThread, from: LuaThread | null, argumentCount: number): number
  lua_yieldk(
    thread: LuaThread,
    resultCount: number,
    context: number,
    continuation: ((thread: LuaThread, status: number, context: number) => number) | null,
  ): number
  lua_isyieldable(thread: LuaThread): boolean
  lua_pcall(thread: LuaThread, argumentCount: number, resultCount: number, handler: number): number
  lua_error(thread: LuaThread): never
  luaD_throw(thread: LuaThread, status: number): never
  lua_atnativeerror(thread: LuaThread, handler: NativeFunction): void
  lua_sethook(
    thread: LuaThread,
    hook: ((thread: LuaThread, record: DebugRecord) => void) | null,
    mask: number,
    count: number,
  ): void
  lua_getstack(thread: LuaThread, level: number, record: DebugRecord): number
  lua_getinfo(thread: LuaThread, what: Uint8Array, record: DebugRecord): number
  luaL_traceback(target: LuaThread, thread: LuaThread, message: Uint8Array | null, level: number): void
  luaL_where(thread: LuaThread, level: number): void
  luaL_argerror(thread: LuaThread, argument: number, message: Uint8Array): never
  luaL_loadbufferx(
    thread: LuaThread,
    text: Uint8Array,
    length: number,
    name: Uint8Array,
    mode: Uint8Array | null,
  ): number
  luaL_requiref(thread: LuaThread, name: Uint8Array, open: NativeFunction, global: boolean): void
  lua_dump(
    thread: LuaThread,
    writer: (thread: LuaThread, bytes: Uint8Array, size: number) => number,
    data: null,
    strip: boolean,
  ): number

  lua_gettop(thread: LuaThread): number
  lua_settop(thread: LuaThread, index: number): void
  lua_absindex(thread: LuaThread, index: number): number
  lua_pushvalue(thread: LuaThread, index: number): void
  lua_rotate(thread: LuaThread, index: number, count: number): void
  lua_checkstack(thread: LuaThread, slots: number): boolean
  lua_xmove(from: LuaThread, to: LuaThread, count: number): void
  lua_concat(thread: LuaThread, count: number): void

  lua_type(thread: LuaThread, index: number): number
  lua_typename(thread: LuaThread, type: number): Uint8Array
  lua_isinteger(thread: LuaThread, index: number): boolean
  lua_toboolean(thread: LuaThread, index: number): boolean
  lua_tonumber(thread: LuaThread, index: number): number
  lua_tonumberx(thread: LuaThread, index: number): number | false
  lua_tolstring(thread: LuaThread, index: number): Uint8Array | null
  luaL_tolstring(thread: LuaThread, index: number): Uint8Array
  lua_touserdata(thread: LuaThread, index: number): unknown
  lua_tothread(thread: LuaThread, index: number): LuaThread | null
  lua_topointer(thread: LuaThread, index: number): unknown
  lua_rawlen(thread: LuaThread, index: number): number

  lua_pushnil(thread: LuaThread): void
  lua_pushboolean(thread: LuaThread, value: boolean): void
  lua_pushnumber(thread: LuaThread, value: number): void
  lua_pushinteger(thread: LuaThread, value: number): void
  lua_pushstring(thread: LuaThread, text: Uint8Array): void
  lua_pushlightuserdata(thread: LuaThread, value: object): void
  lua_pushcfunction(thread: LuaThread, call: NativeFunction): void

  lua_newtable(thread: LuaThread): void
  lua_rawget(thread: LuaThread, index: number): number
  lua_rawset(thread: LuaThread, index: number): void
  lua_rawgeti(thread: LuaThread, index: number, key: number): number
  lua_rawseti(thread: LuaThread, index: number, key: number): void
  lua_next(thread: LuaThread, index: number): number
  lua_getmetatable(thread: LuaThread, index: number): boolean
  lua_setmetatable(thread: LuaThread, index: number): void
  lua_setupvalue(thread: LuaThread, index: number, upvalue: number): Uint8Array | null
  luaL_ref(thread: LuaThread, table: number): number
  luaL_unref(thread: LuaThread, table: number, reference: number): void
}

/** The library once it is loaded and repaired. */
export interface Library {
  readonly api: LuaApi
  /** Standard libraries that do not reach outside, in the order they are opened. */
  readonly libraries: readonly { readonly name: string; readonly open: NativeFunction }[]
}

/** Numbers of this range are integers in Lua 5.3 with 32-bit integers. */
export function isInteger32(value: number): boolean {
  return (value | 0) === value && !Object.is(value, -0)
}
