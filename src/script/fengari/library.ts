import type { CommonApi, Thread } from '../lua/api.ts'
import { floatText } from './number-text.ts'

/** A Lua thread (`lua_State`). All threads of a state share their `l_G`. */
export interface FengariThread {
  /** `account` is added by this engine (patch.ts). */
  readonly l_G: { account?: StringAccount }
  /** Thrown for Lua errors, instead of C's `longjmp`. */
  readonly errorJmp: unknown
}

/** Counts the bytes of the strings a state creates. */
export interface StringAccount {
  /** Longest allowed single string. */
  readonly longest: number
  /** Bytes until the next call of `check`. */
  remaining: number
  /** Called when `remaining` is used up, and for a string that is too long. It may exit by throwing. */
  readonly check: (thread: FengariThread, length: number) => void
}

/** `lua_CFunction`: takes its arguments from the stack and returns the number of results it has pushed. */
export type NativeFunction = (thread: FengariThread) => number

interface DebugRecord {
  readonly currentline: number
  readonly short_src: Uint8Array | null
}

/** Functions of Lua's C API (5.3) that only fengari has, in addition to those both engines share: strings are bytes. */
export interface FengariApi extends CommonApi {
  readonly lua_Debug: new () => DebugRecord
  lua_atnativeerror(thread: Thread, handler: NativeFunction): void
  lua_dump(
    thread: Thread,
    writer: (thread: Thread, bytes: Uint8Array, size: number) => number,
    data: null,
    strip: boolean,
  ): number
  lua_error(thread: Thread): never
  lua_getinfo(thread: Thread, what: Uint8Array, record: DebugRecord): number
  lua_getstack(thread: Thread, level: number, record: DebugRecord): number
  lua_pcall(thread: Thread, argumentCount: number, resultCount: number, handler: number): number
  lua_pushcfunction(thread: Thread, call: NativeFunction): void
  lua_pushinteger(thread: Thread, value: number): void
  lua_pushstring(thread: Thread, text: Uint8Array): void
  lua_rawgeti(thread: Thread, index: number, key: number): number
  lua_rawlen(thread: Thread, index: number): number
  lua_rawseti(thread: Thread, index: number, key: number): void
  lua_resume(thread: Thread, from: Thread | null, argumentCount: number): number
  lua_sethook(thread: Thread, hook: (thread: FengariThread) => void, mask: number, count: number): void
  lua_tolstring(thread: Thread, index: number): Uint8Array | null
  lua_tonumber(thread: Thread, index: number): number
  lua_typename(thread: Thread, type: number): Uint8Array
  lua_yieldk(
    thread: Thread,
    resultCount: number,
    context: number,
    continuation: ((thread: FengariThread, status: number, context: number) => number) | null,
  ): number
  luaD_throw(thread: Thread, status: number): never
  luaL_checklstring(thread: Thread, argument: number): Uint8Array
  luaL_checknumber(thread: Thread, argument: number): number
  luaL_argerror(thread: Thread, argument: number, message: Uint8Array): never
  luaL_loadbufferx(thread: Thread, text: Uint8Array, length: number, name: Uint8Array, mode: Uint8Array): number
  luaL_newstate(): FengariThread | null
  luaL_requiref(thread: Thread, name: Uint8Array, open: NativeFunction, global: boolean): void
  luaL_tolstring(thread: Thread, index: number): Uint8Array
  luaL_traceback(target: Thread, thread: Thread, message: Uint8Array | null, level: number): void
}

/** The library, loaded and patched. */
export interface Library {
  readonly raw: FengariApi
  /** Standard libraries with no access to the outside, in the order they are opened. */
  readonly libraries: readonly { readonly name: string; readonly open: NativeFunction }[]
}

/**
 * Loads fengari. Its modules copy functions from one another while they load, so each module is patched before the
 * modules that use it are loaded. `fengari-interop`, which would expose JavaScript objects to scripts, is never loaded.
 */
export async function loadLibrary(): Promise<Library> {
  repairOnce((await import('fengari/src/lstring.js')).default as StringModule, repairStrings)
  repairOnce((await import('fengari/src/luaconf.js')).default as NumberModule, repairNumbers)
  repairOnce((await import('fengari/src/lapi.js')).default as CallModule, repairProtectedCalls)
  const auxiliary = (await import('fengari/src/lauxlib.js')).default as BufferModule
  repairOnce(auxiliary, limitBuffers)
  const api = (await import('fengari/src/lua.js')).default as FengariApi
  const { luaD_throw } = (await import('fengari/src/ldo.js')).default as Pick<FengariApi, 'luaD_throw'>
  const standard = (await import('fengari/src/lualib.js')).default as Readonly<Record<string, NativeFunction>>
  return { raw: { ...api, ...auxiliary, luaD_throw }, libraries: librariesOf(standard) }
}

const repaired = Symbol.for('baton.fengari.repaired')

/**
 * The engines of one process share the package. The mark is on the module itself, because the package outlives the
 * engines.
 */
function repairOnce<T extends object>(module: T & { [repaired]?: true }, repair: (module: T) => void): void {
  if (module[repaired] === true) return
  module[repaired] = true
  repair(module)
}

function librariesOf(standard: Readonly<Record<string, NativeFunction>>): Library['libraries'] {
  return ['base', 'coroutine', 'table', 'string', 'math', 'utf8'].map((name) => {
    const open = standard[`luaopen_${name}`]
    if (open === undefined) throw new Error(`fengari has no library ${name}`)
    return { name: name === 'base' ? '_G' : name, open }
  })
}

/** Numbers in this range are integers in Lua 5.3 with 32-bit integers. */
export function isInteger32(value: number): boolean {
  return (value | 0) === value && !Object.is(value, -0)
}

const encoder = new TextEncoder()

/** Text as the bytes of a Lua string. */
export function encode(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? encoder.encode(text) : text
}

interface LuaString {
  hash: string | null
  readonly realstring: Uint8Array
}

interface StringModule {
  readonly TString: new (thread: FengariThread, bytes: Uint8Array) => LuaString
  luaS_hash: (bytes: Uint8Array) => string
  luaS_hashlongstr: (text: LuaString) => string
  luaS_bless: (thread: FengariThread, bytes: Uint8Array) => LuaString
  luaS_new: (thread: FengariThread, bytes: Uint8Array) => LuaString
}

interface NumberModule {
  LUA_COMPAT_FLOATSTRING: boolean
  lua_number2str: (value: number) => string
}

interface CallingThread extends FengariThread {
  readonly allowhook: number
  readonly ci: { callstatus: number }
}

interface CallModule {
  lua_pcallk: (thread: CallingThread, ...rest: readonly unknown[]) => number
}

interface BufferModule {
  luaL_Buffer: new () => object
}

/**
 * Patches strings: fengari compares and hashes them by hexadecimal text without padding, so different strings can be
 * equal and bytes below 16 sort wrongly. Text with one character per byte sorts as the bytes do. Every string is also
 * counted for the memory limit (backend.ts).
 */
function repairStrings(strings: StringModule): void {
  const { TString } = strings
  const bless = (thread: FengariThread, bytes: Uint8Array): LuaString => {
    const { account } = thread.l_G
    if (account !== undefined) count(account, thread, bytes.length)
    return new TString(thread, bytes)
  }
  strings.luaS_hash = hash
  strings.luaS_hashlongstr = (text) => (text.hash ??= hash(text.realstring))
  strings.luaS_bless = bless
  // not an arrow function, because fengari calls it with `new` in one place
  strings.luaS_new = function (thread, bytes) {
    return bless(thread, bytes.slice())
  }
}

/** Floats as C writes them. The switch keeps fengari from adding `.0`, because `floatText` does that. */
function repairNumbers(numbers: NumberModule): void {
  numbers.LUA_COMPAT_FLOATSTRING = true
  numbers.lua_number2str = floatText
}

const restoresHooks = 1

/** After `pcall` has caught an error in a coroutine, fengari leaves hooks off, and no limit would be enforced. */
function repairProtectedCalls(calls: CallModule): void {
  const protectedCall = calls.lua_pcallk
  calls.lua_pcallk = (thread, ...rest) => {
    if (thread.allowhook !== 0) thread.ci.callstatus |= restoresHooks
    return protectedCall(thread, ...rest)
  }
}

/** Library functions build strings in these buffers, which have no limit themselves. */
function limitBuffers(buffers: BufferModule): void {
  buffers.luaL_Buffer = class {
    L: FengariThread | null = null
    n = 0
    #bytes = new Uint8Array(0)

    get b(): Uint8Array<ArrayBuffer> {
      return this.#bytes
    }

    set b(bytes: Uint8Array<ArrayBuffer>) {
      const account = this.L?.l_G.account
      // a buffer doubles, so it may be twice as long as its content
      if (this.L !== null && account !== undefined && bytes.length > 2 * account.longest) {
        account.check(this.L, bytes.length)
      }
      this.#bytes = bytes
    }
  }
}

function count(account: StringAccount, thread: FengariThread, length: number): void {
  account.remaining -= length
  if (account.remaining < 0 || length > account.longest) account.check(thread, length)
}

const shortString = 24

function hash(bytes: Uint8Array): string {
  // the mark distinguishes strings from other keys of the same map
  if (bytes.length > shortString) return `|${latin1.call(bytes, 0, bytes.length)}`
  let text = '|'
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

const latin1 = (Buffer.prototype as unknown as Record<'latin1Slice', Latin1Slice>).latin1Slice
type Latin1Slice = (this: Uint8Array, start: number, end: number) => string
