import { countMask, type LuaApi, type NamedText, type Thread } from '../lua/api.ts'
import type { LuaCallbacks } from '../lua/state.ts'
import { decode, messageText } from '../lua/text.ts'
import { encode, type FengariApi, type FengariThread, isInteger32 } from './library.ts'
import { collectKeys } from './standard.ts'

const sourceAndLine = encode('Sl')

/** The C API of fengari. Its integers have 32 bits, so larger numbers are floats. */
export function createApi(raw: FengariApi, callbacks: LuaCallbacks): LuaApi {
  return {
    ...raw,
    nullValue: {},
    waitMarker: {},
    // in Lua 5.3, yielding in a hook hides the innermost function of a thread until it is resumed
    keepsFrames: false,
    lua_pcall: (thread, argumentCount, resultCount) => raw.lua_pcall(thread, argumentCount, resultCount, 0),
    lua_resume: (thread) => raw.lua_resume(thread, null, 0),
    pushText: (thread, text) => raw.lua_pushstring(thread, encode(text)),
    pushName: (thread, name) => raw.lua_pushstring(thread, encode(name)),
    readText: (thread, index) => decode(raw.lua_tolstring(thread, index) ?? new Uint8Array(0)),
    readMessage: (thread, index) => messageText(raw.lua_tolstring(thread, index)),
    typeName: (thread, type) => messageText(raw.lua_typename(thread, type)),
    pushNumber(thread, value) {
      const number = Number(value)
      if (isInteger32(number)) raw.lua_pushinteger(thread, number)
      else raw.lua_pushnumber(thread, number)
    },
    readNumber: (thread, index) => raw.lua_tonumber(thread, index),
    pushCall: (thread, number) => raw.lua_pushcfunction(thread, (running) => callbacks.call(running, number)),
    pushKeys: (thread) => raw.lua_pushcfunction(thread, (running) => collectKeys(raw, running)),
    yieldCall: (thread, id) =>
      raw.lua_yieldk(thread, 2, id, (resumed, _status, context) => callbacks.continue(resumed, context)),
    yieldHook(thread) {
      raw.lua_yieldk(thread, 0, 0, null)
    },
    setHook: (thread, instructions) => raw.lua_sethook(thread, callbacks.hook, countMask, instructions),
    isJump: (thread: FengariThread, error) => error === thread.errorJmp,
    loadText: (thread, chunk) => loadText(raw, thread, chunk),
    loadDumped: (thread, code) => raw.luaL_loadbufferx(thread, code, code.length, encode('=?'), encode('b')),
    dump(thread, { lines }) {
      const parts: Uint8Array[] = []
      const write = (_thread: unknown, bytes: Uint8Array, size: number): number => {
        parts.push(bytes.slice(0, size))
        return 0
      }
      raw.lua_dump(thread, write, null, lines === 'omit')
      return Buffer.concat(parts)
    },
    frameAt(thread, level) {
      const record = new raw.lua_Debug()
      if (raw.lua_getstack(thread, level, record) === 0) return undefined
      raw.lua_getinfo(thread, sourceAndLine, record)
      return { source: messageText(record.short_src), line: record.currentline }
    },
    pushTraceback: (target, thread) => raw.luaL_traceback(target, thread, null, 0),
  }
}

function loadText(raw: FengariApi, thread: Thread, { name, text }: NamedText): number {
  const content = encode(text)
  return raw.luaL_loadbufferx(thread, content, content.length, encode(name), encode('t'))
}
