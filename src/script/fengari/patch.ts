import type { FengariThread, StringAccount } from './library.ts'
import { floatText } from './number-text.ts'

interface LuaString {
  hash: string | null
  readonly realstring: Uint8Array
}

export interface StringModule {
  readonly TString: new (thread: FengariThread, bytes: Uint8Array) => LuaString
  luaS_hash: (bytes: Uint8Array) => string
  luaS_hashlongstr: (text: LuaString) => string
  luaS_bless: (thread: FengariThread, bytes: Uint8Array) => LuaString
  luaS_new: (thread: FengariThread, bytes: Uint8Array) => LuaString
}

export interface NumberModule {
  LUA_COMPAT_FLOATSTRING: boolean
  lua_number2str: (value: number) => string
}

interface CallingThread extends FengariThread {
  readonly allowhook: number
  readonly ci: { callstatus: number }
}

export interface CallModule {
  lua_pcallk: (thread: CallingThread, ...rest: readonly unknown[]) => number
}

export interface BufferModule {
  luaL_Buffer: new () => object
}

/**
 * Patches strings: fengari compares and hashes them by hexadecimal text without padding, so different strings can be
 * equal and bytes below 16 sort wrongly. Text with one character per byte sorts as the bytes do. Every string is also
 * counted for the memory limit (backend.ts).
 */
export function repairStrings(strings: StringModule): void {
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
export function repairNumbers(numbers: NumberModule): void {
  numbers.LUA_COMPAT_FLOATSTRING = true
  numbers.lua_number2str = floatText
}

const restoresHooks = 1

/** After `pcall` has caught an error in a coroutine, fengari leaves hooks off, and no limit would be enforced. */
export function repairProtectedCalls(calls: CallModule): void {
  const protectedCall = calls.lua_pcallk
  calls.lua_pcallk = (thread, ...rest) => {
    if (thread.allowhook !== 0) thread.ci.callstatus |= restoresHooks
    return protectedCall(thread, ...rest)
  }
}

/** Library functions build strings in these buffers, which have no limit themselves. */
export function limitBuffers(buffers: BufferModule): void {
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
