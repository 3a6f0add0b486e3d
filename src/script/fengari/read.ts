import type { LuaValue, TableReading } from '../engine.ts'
import { luaType } from '../lua/constants.ts'
import { type Entry, objectOf } from '../lua/entries.ts'
import { frameOf, placeOf, type TableFrame } from '../lua/table-frames.ts'
import type { LuaApi, LuaThread } from './api.ts'
import { messageText, readText } from './text.ts'

export interface ReadSource {
  readonly api: LuaApi
  readonly thread: LuaThread
  readonly reading: TableReading
  /** The metatable that marks lists. */
  readonly listMarker: unknown
  readonly nullValue: object
}

type Frame = TableFrame<unknown>

/**
 * Reads a deep copy of the value at `index`, without running any Lua code (metamethods are not asked).
 * @throws Error for functions, coroutines, userdata, cyclic tables and nesting deeper than 1,000 levels; the message says
 * where in the value it stands, for example `a.b[2] is a function, which cannot leave Lua`.
 */
export function readValue(source: ReadSource, index: number): LuaValue {
  return read(source, source.api.lua_absindex(source.thread, index), undefined)
}

function read(source: ReadSource, index: number, around: Frame | undefined): LuaValue {
  const { api, thread } = source
  const type = api.lua_type(thread, index)
  switch (type) {
    case luaType.nil:
      return undefined
    case luaType.boolean:
      return api.lua_toboolean(thread, index)
    case luaType.number:
      return api.lua_tonumber(thread, index)
    case luaType.string:
      return readText(api, thread, index)
    case luaType.table:
      return readTable(source, index, around)
    case luaType.lightUserdata:
      if (api.lua_touserdata(thread, index) === source.nullValue) return null
  }
  throw new Error(`${placeOf(around)} is a ${typeName(source, type)}, which cannot leave Lua`)
}

function readTable(source: ReadSource, index: number, around: Frame | undefined): LuaValue {
  const { api, thread } = source
  const frame: Frame = frameOf(api.lua_topointer(thread, index), around)
  if (!api.lua_checkstack(thread, 4)) throw new RangeError('the Lua stack has no room for a value')
  if (isList(source, index)) return readElements(source, index, frame)
  return objectOf(readEntries(source, index, frame))
}

function isList(source: ReadSource, index: number): boolean {
  const length = source.api.lua_rawlen(source.thread, index)
  if (source.reading === 'border') return length > 0 || isMarkedList(source, index)
  return hasOnlyElements(source, index, length)
}

function readElements(source: ReadSource, index: number, frame: Frame): readonly LuaValue[] {
  const { api, thread } = source
  const length = api.lua_rawlen(thread, index)
  const list: LuaValue[] = []
  for (let element = 1; element <= length; element++) {
    frame.step = element
    api.lua_rawgeti(thread, index, element)
    const value = read(source, api.lua_gettop(thread), frame)
    list.push(value === undefined ? null : value)
    api.lua_settop(thread, -2)
  }
  return list
}

function readEntries(source: ReadSource, index: number, frame: Frame): readonly Entry[] {
  const { api, thread } = source
  const entries: Entry[] = []
  api.lua_pushnil(thread)
  while (api.lua_next(thread, index) !== 0) {
    const top = api.lua_gettop(thread)
    const key = readKey(source, top - 1, frame)
    frame.step = key
    entries.push([key, read(source, top, frame)])
    api.lua_settop(thread, -2)
  }
  return entries
}

function readKey(source: ReadSource, index: number, frame: Frame): string | number {
  const { api, thread } = source
  const type = api.lua_type(thread, index)
  if (type === luaType.number) return api.lua_tonumber(thread, index)
  if (type === luaType.boolean) return String(api.lua_toboolean(thread, index))
  if (type === luaType.string) {
    const key = readText(api, thread, index)
    if (typeof key === 'string') return key
    throw new Error(`${placeOf(frame.outer)} has a key that is not UTF-8, which cannot leave Lua`)
  }
  throw new Error(`${placeOf(frame.outer)} has a ${typeName(source, type)} as a key, which cannot leave Lua`)
}

/** True when the keys are exactly 1..length. */
function hasOnlyElements({ api, thread }: ReadSource, index: number, length: number): boolean {
  let count = 0
  api.lua_pushnil(thread)
  while (api.lua_next(thread, index) !== 0) {
    api.lua_settop(thread, -2)
    count++
    const key = api.lua_isinteger(thread, -1) ? api.lua_tonumber(thread, -1) : 0
    if (key >= 1 && key <= length) continue
    api.lua_settop(thread, -2)
    return false
  }
  return count === length
}

function isMarkedList({ api, thread, listMarker }: ReadSource, index: number): boolean {
  if (!api.lua_getmetatable(thread, index)) return false
  const isMarked = api.lua_topointer(thread, -1) === listMarker
  api.lua_settop(thread, -2)
  return isMarked
}

function typeName({ api, thread }: ReadSource, type: number): string {
  return messageText(api.lua_typename(thread, type))
}
