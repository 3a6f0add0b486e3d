import type { LuaValue } from '../engine.ts'
import { deepest, describe, isList, isPlain } from '../lua/plain.ts'
import type { Pointer } from './exports.ts'
import { pushText } from './text.ts'
import type { LuaWasm } from './wasm.ts'

/** The null sentinel is the light userdata with this address. */
export const nullAddress = 0

export interface PushTarget {
  readonly wasm: LuaWasm
  readonly thread: Pointer
  /** Pushes the metatable that marks tables which were lists in JavaScript. */
  readonly pushListMarker: (thread: Pointer) => void
}

/**
 * Pushes a deep copy of a value (spec/lua-engines.md 9). Safe integers become Lua integers, other numbers floats; every list
 * carries the list marker, so that an empty one comes back as a list (spec/aipack.md 2.2).
 * @throws TypeError for what is not a LuaValue or is nested deeper than 1,000 levels.
 */
export function pushValue(target: PushTarget, value: LuaValue, depth = 0): void {
  const { wasm, thread } = target
  const { lua, bridge } = wasm
  if (value === undefined) return lua.lua_pushnil(thread)
  if (value === null) return lua.lua_pushlightuserdata(thread, nullAddress)
  if (typeof value === 'boolean') return lua.lua_pushboolean(thread, value ? 1 : 0)
  if (typeof value === 'string') return pushText(wasm, thread, value)
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return bridge.pushInteger(thread, value)
    return lua.lua_pushnumber(thread, value)
  }
  if (typeof value === 'bigint') return pushBigint(wasm, thread, value)
  if (value instanceof Uint8Array) return pushText(wasm, thread, value)
  if (depth >= deepest) throw new TypeError(`a value for Lua is nested deeper than ${deepest} levels`)
  if (lua.lua_checkstack(thread, 4) === 0) throw new Error('the Lua stack has no room for a value')
  if (isList(value)) return pushList(target, value, depth)
  if (isPlain(value)) return pushObject(target, value, depth)
  throw new TypeError(`${describe(value)} cannot become a Lua value`)
}

function pushList(target: PushTarget, list: readonly LuaValue[], depth: number): void {
  const { wasm, thread } = target
  wasm.lua.lua_createtable(thread, list.length, 0)
  for (let index = 0; index < list.length; index++) {
    pushValue(target, list[index], depth + 1)
    wasm.bridge.setElement(thread, -2, index + 1)
  }
  target.pushListMarker(thread)
  wasm.lua.lua_setmetatable(thread, -2)
}

function pushObject(target: PushTarget, object: { readonly [key: string]: LuaValue }, depth: number): void {
  const { wasm, thread } = target
  const keys = Object.keys(object)
  wasm.lua.lua_createtable(thread, 0, keys.length)
  for (const key of keys) {
    const item = object[key]
    if (item === undefined) continue
    pushText(wasm, thread, key)
    pushValue(target, item, depth + 1)
    wasm.lua.lua_rawset(thread, -3)
  }
}

/** Integers of 64 bits stay exact; beyond that Lua itself would read the literal as a float. */
function pushBigint({ lua }: LuaWasm, thread: Pointer, value: bigint): void {
  if (BigInt.asIntN(64, value) === value) lua.lua_pushinteger(thread, value)
  else lua.lua_pushnumber(thread, Number(value))
}
