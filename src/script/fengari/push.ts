import type { LuaValue } from '../engine.ts'
import { deepest, describe, isList, isPlain } from '../lua/plain.ts'
import { isInteger32, type LuaApi, type LuaThread } from './api.ts'
import { pushText } from './text.ts'

export interface PushTarget {
  readonly api: LuaApi
  readonly thread: LuaThread
  /** The light userdata that stands for null. */
  readonly nullValue: object
  /** Pushes the metatable that marks tables which were lists in JavaScript. */
  readonly pushListMarker: (thread: LuaThread) => void
}

/**
 * Pushes a deep copy of a value (spec/lua-engines.md 9). Integers of 32 bits become Lua integers, all other numbers floats
 * (5.3 rule 1); every list carries the list marker, so that an empty one comes back as a list (spec/aipack.md 2.2).
 * @throws TypeError for what is not a LuaValue, RangeError when nested deeper than 1,000 levels.
 */
export function pushValue(target: PushTarget, value: LuaValue, depth = 0): void {
  const { api, thread } = target
  if (depth >= deepest) throw new RangeError(`a value for Lua is nested deeper than ${deepest} levels`)
  // the stack of a native function has room for twenty values only
  if (!api.lua_checkstack(thread, 4)) throw new RangeError('the Lua stack has no room for a value')
  if (value === undefined) return api.lua_pushnil(thread)
  if (value === null) return api.lua_pushlightuserdata(thread, target.nullValue)
  if (typeof value === 'boolean') return api.lua_pushboolean(thread, value)
  if (typeof value === 'string') return pushText(api, thread, value)
  if (typeof value === 'number') return pushNumber(target, value)
  if (typeof value === 'bigint') return pushNumber(target, Number(value))
  if (value instanceof Uint8Array) return pushText(api, thread, value)
  if (isList(value)) return pushList(target, value, depth)
  if (isPlain(value)) return pushObject(target, value, depth)
  throw new TypeError(`${describe(value)} cannot become a Lua value`)
}

function pushNumber({ api, thread }: PushTarget, value: number): void {
  if (isInteger32(value)) api.lua_pushinteger(thread, value)
  else api.lua_pushnumber(thread, value)
}

function pushList(target: PushTarget, list: readonly LuaValue[], depth: number): void {
  const { api, thread } = target
  api.lua_newtable(thread)
  for (let index = 0; index < list.length; index++) {
    pushValue(target, list[index], depth + 1)
    api.lua_rawseti(thread, -2, index + 1)
  }
  target.pushListMarker(thread)
  api.lua_setmetatable(thread, -2)
}

function pushObject(target: PushTarget, object: { readonly [key: string]: LuaValue }, depth: number): void {
  const { api, thread } = target
  api.lua_newtable(thread)
  for (const key of Object.keys(object)) {
    const item = object[key]
    if (item === undefined) continue
    pushText(api, thread, key)
    pushValue(target, item, depth + 1)
    api.lua_rawset(thread, -3)
  }
}
