import type { LuaValue, TableReading } from '../engine.ts'
import { luaType } from '../lua/constants.ts'
import { type Entry, objectOf } from '../lua/entries.ts'
import { frameOf, placeOf, type TableFrame } from '../lua/table-frames.ts'
import type { Pointer } from './exports.ts'
import { nullAddress } from './push.ts'
import { readConstant, readText } from './text.ts'
import type { LuaWasm } from './wasm.ts'

export interface ReadSource {
  readonly wasm: LuaWasm
  readonly thread: Pointer
  readonly reading: TableReading
  /** Address of the metatable that marks lists. */
  readonly listMarker: Pointer
}

type Frame = TableFrame<Pointer>

/**
 * Reads a deep copy of the value at `index`, without running any Lua code (metamethods are not asked).
 * @throws Error for functions, coroutines, userdata, cyclic tables and nesting deeper than 1,000 levels; the message says
 * where in the value it stands, for example `a.b[2] is a function, which cannot leave Lua`.
 */
export function readValue(source: ReadSource, index: number): LuaValue {
  const { wasm, thread } = source
  return read(source, wasm.lua.lua_absindex(thread, index), undefined)
}

function read(source: ReadSource, index: number, around: Frame | undefined): LuaValue {
  const { wasm, thread } = source
  const { lua } = wasm
  const type = lua.lua_type(thread, index)
  switch (type) {
    case luaType.nil:
      return undefined
    case luaType.boolean:
      return lua.lua_toboolean(thread, index) !== 0
    case luaType.number:
      return readNumber(source, index)
    case luaType.string:
      return readText(wasm, thread, index)
    case luaType.table:
      return readTable(source, index, around)
    case luaType.lightUserdata:
      if (lua.lua_touserdata(thread, index) === nullAddress) return null
  }
  const kind = readConstant(wasm, lua.lua_typename(thread, type))
  throw new Error(`${placeOf(around)} is a ${kind}, which cannot leave Lua`)
}

function readNumber({ wasm, thread }: ReadSource, index: number): number | bigint {
  const value = wasm.lua.lua_tonumberx(thread, index, 0)
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value
  return wasm.lua.lua_isinteger(thread, index) === 0 ? value : wasm.lua.lua_tointegerx(thread, index, 0)
}

function readTable(source: ReadSource, index: number, around: Frame | undefined): LuaValue {
  const { wasm, thread } = source
  const frame: Frame = frameOf(wasm.lua.lua_topointer(thread, index), around)
  if (wasm.lua.lua_checkstack(thread, 4) === 0) throw new Error('the Lua stack has no room for a value')
  if (isList(source, index)) return readElements(source, index, frame)
  return objectOf(readEntries(source, index, frame))
}

function isList(source: ReadSource, index: number): boolean {
  const length = source.wasm.bridge.rawLength(source.thread, index)
  if (source.reading === 'border') return length > 0 || isMarkedList(source, index)
  return hasOnlyElements(source, index, length)
}

function readElements(source: ReadSource, index: number, frame: Frame): readonly LuaValue[] {
  const { wasm, thread } = source
  const length = wasm.bridge.rawLength(thread, index)
  const list: LuaValue[] = []
  for (let element = 1; element <= length; element++) {
    frame.step = element
    wasm.bridge.getElement(thread, index, element)
    const value = read(source, wasm.lua.lua_gettop(thread), frame)
    list.push(value === undefined ? null : value)
    wasm.lua.lua_settop(thread, -2)
  }
  return list
}

function readEntries(source: ReadSource, index: number, frame: Frame): readonly Entry[] {
  const { wasm, thread } = source
  const entries: Entry[] = []
  wasm.lua.lua_pushnil(thread)
  while (wasm.lua.lua_next(thread, index) !== 0) {
    const top = wasm.lua.lua_gettop(thread)
    const key = readKey(source, top - 1, frame)
    frame.step = key
    entries.push([key, read(source, top, frame)])
    wasm.lua.lua_settop(thread, -2)
  }
  return entries
}

function readKey(source: ReadSource, index: number, frame: Frame): string | number {
  const { wasm, thread } = source
  const type = wasm.lua.lua_type(thread, index)
  if (type === luaType.string) {
    const key = readText(wasm, thread, index)
    if (typeof key === 'string') return key
    throw new Error(`${placeOf(frame.outer)} has a key that is not UTF-8, which cannot leave Lua`)
  }
  if (type === luaType.number) {
    const key = readNumber(source, index)
    return typeof key === 'bigint' ? String(key) : key
  }
  if (type === luaType.boolean) return String(wasm.lua.lua_toboolean(thread, index) !== 0)
  const kind = readConstant(wasm, wasm.lua.lua_typename(thread, type))
  throw new Error(`${placeOf(frame.outer)} has a ${kind} as a key, which cannot leave Lua`)
}

/** True when the keys are exactly 1..length. */
function hasOnlyElements({ wasm, thread }: ReadSource, index: number, length: number): boolean {
  const { lua } = wasm
  let count = 0
  lua.lua_pushnil(thread)
  while (lua.lua_next(thread, index) !== 0) {
    lua.lua_settop(thread, -2)
    count++
    const key = lua.lua_isinteger(thread, -1) === 0 ? 0 : lua.lua_tonumberx(thread, -1, 0)
    if (key >= 1 && key <= length) continue
    lua.lua_settop(thread, -2)
    return false
  }
  return count === length
}

function isMarkedList({ wasm, thread, listMarker }: ReadSource, index: number): boolean {
  if (wasm.lua.lua_getmetatable(thread, index) === 0) return false
  const isMarked = wasm.lua.lua_topointer(thread, -1) === listMarker
  wasm.lua.lua_settop(thread, -2)
  return isMarked
}
