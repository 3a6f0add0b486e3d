import { luaType } from '../lua/constants.ts'
import { isInteger32, type LuaApi, type LuaThread, type NativeFunction } from './api.ts'
import type { Core } from './core.ts'
import { createFormat } from './format.ts'
import { createRandomNumbers } from './random.ts'
import { encode } from './text.ts'

/** Standard functions that fengari does not have, or has wrong, by their path from the globals. */
export function standardFunctions({ api }: Core): Readonly<Record<string, NativeFunction>> {
  const random = createRandomNumbers()
  return {
    collectgarbage: (thread) => collectGarbage(api, thread),
    'string.format': createFormat(api),
    'string.rep': (thread) => repeat(api, thread),
    'math.random': (thread) => {
      pushNumber(api, thread, pick({ api, thread }, random.next()))
      return 1
    },
    'math.randomseed': (thread) => {
      random.seed(checkNumber({ api, thread }, 1))
      return 0
    },
    'debug.traceback': (thread) => traceback(api, thread),
    'debug.getmetatable': (thread) => {
      if (!api.lua_getmetatable(thread, 1)) api.lua_pushnil(thread)
      return 1
    },
    'debug.setmetatable': (thread) => {
      api.lua_settop(thread, 2)
      api.lua_setmetatable(thread, 1)
      return 1
    },
  }
}

/** JavaScript collects garbage when it wants to; `count` is the heap of the whole process in kilobytes. */
function collectGarbage(api: LuaApi, thread: LuaThread): number {
  const option = api.lua_tolstring(thread, 1)?.[0]
  if (option === 'c'.charCodeAt(0) && api.lua_tolstring(thread, 1)?.length === 5) {
    api.lua_pushnumber(thread, process.memoryUsage().heapUsed / 1024)
  } else if (option === 's'.charCodeAt(0)) api.lua_pushboolean(thread, true)
  else api.lua_pushinteger(thread, 0)
  return 1
}

/** `string.rep`, which fengari copies piece by piece. A result that is too long is not made at all. */
function repeat(api: LuaApi, thread: LuaThread): number {
  const text = checkText({ api, thread }, 1)
  const times = checkInteger({ api, thread }, 2)
  const between = api.lua_type(thread, 3) > luaType.nil ? checkText({ api, thread }, 3) : new Uint8Array(0)
  const length = times < 1 ? 0 : times * text.length + (times - 1) * between.length
  const { account } = thread.l_G
  if (account !== undefined && length > account.longest) account.check(thread, length)
  api.lua_pushstring(thread, length === 0 ? new Uint8Array(0) : Buffer.alloc(length, Buffer.concat([text, between])))
  return 1
}

interface Arguments {
  readonly api: LuaApi
  readonly thread: LuaThread
}

/** `math.random()` is a float below 1, `(0)` an integer of 32 bits, `(m)` one of 1..m, `(m, n)` one of m..n. */
function pick(given: Arguments, part: number): number {
  const { api, thread } = given
  const count = api.lua_gettop(thread)
  if (count === 0) return part
  if (count === 1 && checkInteger(given, 1) === 0) return Math.floor(part * 2 ** 32) | 0
  const [low, high] = count === 1 ? [1, checkInteger(given, 1)] : [checkInteger(given, 1), checkInteger(given, 2)]
  if (low > high) return api.luaL_argerror(thread, count === 1 ? 1 : 2, encode('interval is empty'))
  return low + Math.floor(part * (high - low + 1))
}

function pushNumber(api: LuaApi, thread: LuaThread, value: number): void {
  if (isInteger32(value) && api.lua_gettop(thread) > 0) api.lua_pushinteger(thread, value)
  else api.lua_pushnumber(thread, value)
}

function checkInteger(given: Arguments, index: number): number {
  const value = checkNumber(given, index)
  if (Number.isSafeInteger(value)) return value
  return given.api.luaL_argerror(given.thread, index, encode('number has no integer representation'))
}

function checkText({ api, thread }: Arguments, index: number): Uint8Array {
  const text = api.lua_type(thread, index) === luaType.none ? null : api.lua_tolstring(thread, index)
  return text ?? api.luaL_argerror(thread, index, encode('string expected'))
}

function checkNumber({ api, thread }: Arguments, index: number): number {
  const value = api.lua_type(thread, index) === luaType.none ? false : api.lua_tonumberx(thread, index)
  return value === false ? api.luaL_argerror(thread, index, encode('number expected')) : value
}

/** `traceback([thread,] [message [, level]])`: a message that is neither text nor nil is given back as it is. */
function traceback(api: LuaApi, thread: LuaThread): number {
  const other = api.lua_type(thread, 1) === luaType.none ? null : api.lua_tothread(thread, 1)
  const first = other === null ? 1 : 2
  const type = api.lua_type(thread, first)
  if (type > luaType.nil && type !== luaType.string && type !== luaType.number) {
    api.lua_pushvalue(thread, first)
    return 1
  }
  const message = type > luaType.nil ? api.lua_tolstring(thread, first) : null
  const level = api.lua_type(thread, first + 1) === luaType.number ? api.lua_tonumber(thread, first + 1) : undefined
  api.luaL_traceback(thread, other ?? thread, message, level ?? (other === null || other === thread ? 1 : 0))
  return 1
}

/**
 * `keys(t, border)` of the prelude: the string keys of a table as a list, their number, and whether there are keys other
 * than those and 1..border.
 */
export function collectKeys(api: LuaApi, thread: LuaThread): number {
  const border = api.lua_tonumber(thread, 2)
  let found = 0
  let hasOthers = false
  api.lua_settop(thread, 2)
  api.lua_newtable(thread)
  api.lua_pushnil(thread)
  while (api.lua_next(thread, 1) !== 0) {
    api.lua_settop(thread, 4)
    if (api.lua_type(thread, 4) === luaType.string) {
      api.lua_pushvalue(thread, 4)
      api.lua_rawseti(thread, 3, ++found)
    } else if (api.lua_isinteger(thread, 4)) {
      const key = api.lua_tonumber(thread, 4)
      hasOthers ||= key < 1 || key > border
    } else hasOthers = true
  }
  api.lua_pushinteger(thread, found)
  api.lua_pushboolean(thread, hasOthers)
  return 3
}
