import type { LuaValue, TableReading } from '../engine.ts'
import { luaType } from '../lua/constants.ts'
import type { LuaApi, LuaThread } from './api.ts'
import { deepest } from './push.ts'
import { messageText, readText } from './text.ts'

export interface ReadSource {
  readonly api: LuaApi
  readonly thread: LuaThread
  readonly reading: TableReading
  /** The metatable that marks lists. */
  readonly listMarker: unknown
  readonly nullValue: object
}

/** A table that is being read; `step` is the key of the value that is read at the moment. */
interface Frame {
  readonly table: unknown
  readonly depth: number
  readonly outer: Frame | undefined
  step: string | number
}

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
  const table = api.lua_topointer(thread, index)
  for (let frame = around; frame !== undefined; frame = frame.outer) {
    if (frame.table === table) throw new Error(`${placeOf(around)} is a table that contains itself`)
  }
  const depth = around === undefined ? 1 : around.depth + 1
  if (depth > deepest) throw new Error(`a table nested deeper than ${deepest} levels cannot leave Lua`)
  if (!api.lua_checkstack(thread, 4)) throw new RangeError('the Lua stack has no room for a value')
  const frame: Frame = { table, depth, outer: around, step: 0 }
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

type Entry = readonly [key: string | number, value: LuaValue]

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

/** Keys in a fixed order, which is that of the other engine. Text wins over an equal number. */
function objectOf(entries: readonly Entry[]): LuaValue {
  const object: Record<string, LuaValue> = {}
  for (const [key, value] of entries.toSorted(byKey)) {
    if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true })
    else object[key] = value
  }
  return object
}

function byKey([left]: Entry, [right]: Entry): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1
  return left < right ? -1 : 1
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

function placeOf(frame: Frame | undefined): string {
  let text = ''
  for (let current = frame; current !== undefined; current = current.outer) text = stepText(current.step) + text
  return text === '' ? 'the value' : text.replace(/^\./, '')
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
