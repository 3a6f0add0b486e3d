import type { LuaValue, TableReading } from '../engine.ts'
import { type LuaApi, luaType, registry, type Thread } from './api.ts'
import type { LuaCore } from './core.ts'

/** Lists and objects may be nested this deep in either direction. */
const deepest = 1_000

/**
 * Pushes a deep copy of a value. Every list gets the list marker as its metatable, so that an empty one comes back as a
 * list.
 * @throws TypeError for a value that is not a LuaValue or is nested deeper than 1,000 levels
 */
export function pushValue({ api, references }: LuaCore, thread: Thread, value: LuaValue): void {
  push({ api, thread, listMarker: references.listMarker }, value, 0)
}

interface PushTarget {
  readonly api: LuaApi
  readonly thread: Thread
  /** Registry key of the metatable that marks lists. */
  readonly listMarker: number
}

function push(target: PushTarget, value: LuaValue, depth: number): void {
  const { api, thread } = target
  if (value === undefined) return api.lua_pushnil(thread)
  if (value === null) return api.lua_pushlightuserdata(thread, api.nullValue)
  if (typeof value === 'boolean') return api.lua_pushboolean(thread, value)
  if (typeof value === 'string') return api.pushText(thread, value)
  if (typeof value === 'number' || typeof value === 'bigint') return api.pushNumber(thread, value)
  if (value instanceof Uint8Array) return api.pushText(thread, value)
  if (depth >= deepest) throw new TypeError(`a value for Lua is nested deeper than ${deepest} levels`)
  if (!api.lua_checkstack(thread, 4)) throw new Error('the Lua stack has no room for a value')
  if (isList(value)) return pushList(target, value, depth)
  if (isPlain(value)) return pushObject(target, value, depth)
  throw new TypeError(`${describe(value)} cannot become a Lua value`)
}

function pushList(target: PushTarget, list: readonly LuaValue[], depth: number): void {
  const { api, thread } = target
  api.lua_createtable(thread, list.length, 0)
  for (let index = 0; index < list.length; index++) {
    push(target, list[index], depth + 1)
    api.lua_rawseti(thread, -2, index + 1)
  }
  api.lua_rawgeti(thread, registry, target.listMarker)
  api.lua_setmetatable(thread, -2)
}

function pushObject(target: PushTarget, object: { readonly [key: string]: LuaValue }, depth: number): void {
  const { api, thread } = target
  const keys = Object.keys(object)
  api.lua_createtable(thread, 0, keys.length)
  for (const key of keys) {
    const item = object[key]
    if (item === undefined) continue
    api.pushText(thread, key)
    push(target, item, depth + 1)
    api.lua_rawset(thread, -3)
  }
}

function isList(value: object): value is readonly LuaValue[] {
  return Array.isArray(value)
}

/** True for objects without a class, including those of another realm. */
function isPlain(value: object): value is { readonly [key: string]: LuaValue } {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Describes a value that cannot become a Lua value, for a message. */
function describe(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? `an object of class ${value.constructor.name}`
    : `a ${typeof value}`
}

interface ReadSource {
  readonly api: LuaApi
  readonly thread: Thread
  readonly reading: TableReading
  /** Identity of the metatable that marks lists. */
  readonly listMarker: unknown
}

/** A table that is being read; `step` is the key of the value being read. */
interface Frame {
  /** The table's identity. */
  readonly table: unknown
  readonly depth: number
  readonly outer: Frame | undefined
  step: string | number
}

export function readSource({ api, listMarker }: LuaCore, thread: Thread, reading: TableReading): ReadSource {
  return { api, thread, reading, listMarker }
}

/**
 * Reads a deep copy of the value at `index` without running any Lua code (metamethods are not called).
 * @throws Error for functions, coroutines, userdata, cyclic tables and nesting deeper than 1,000 levels; the message
 * names the position in the value, for example `a.b[2] is a function, which cannot leave Lua`.
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
      return Boolean(api.lua_toboolean(thread, index))
    case luaType.number:
      return api.readNumber(thread, index)
    case luaType.string:
      return api.readText(thread, index)
    case luaType.table:
      return readTable(source, index, around)
    case luaType.lightUserdata:
      if (api.lua_touserdata(thread, index) === api.nullValue) return null
  }
  throw new Error(`${placeOf(around)} is a ${api.typeName(thread, type)}, which cannot leave Lua`)
}

function readTable(source: ReadSource, index: number, around: Frame | undefined): LuaValue {
  const { api, thread } = source
  const frame = enterTable(api.lua_topointer(thread, index), around)
  if (!api.lua_checkstack(thread, 4)) throw new Error('the Lua stack has no room for a value')
  const length = api.lua_rawlen(thread, index)
  if (readsAsList(source, index, length)) return readElements(source, { index, length, frame })
  return objectOf(readEntries(source, index, frame))
}

/** Throws Error if the table contains itself or is nested too deeply. */
function enterTable(table: unknown, around: Frame | undefined): Frame {
  for (let frame = around; frame !== undefined; frame = frame.outer) {
    if (frame.table === table) throw new Error(`${placeOf(around)} is a table that contains itself`)
  }
  const depth = around === undefined ? 1 : around.depth + 1
  if (depth > deepest) throw new Error(`a table nested deeper than ${deepest} levels cannot leave Lua`)
  return { table, depth, outer: around, step: 0 }
}

function readsAsList(source: ReadSource, index: number, length: number): boolean {
  if (source.reading === 'border') return length > 0 || isMarkedList(source, index)
  return hasOnlyElements(source, index, length)
}

function readElements(
  source: ReadSource,
  { index, length, frame }: { readonly index: number; readonly length: number; readonly frame: Frame },
): readonly LuaValue[] {
  const { api, thread } = source
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
  while (api.lua_next(thread, index)) {
    const top = api.lua_gettop(thread)
    const key = readKey(source, top - 1, frame)
    frame.step = key
    entries.push([key, read(source, top, frame)])
    api.lua_settop(thread, -2)
  }
  return entries
}

function readKey({ api, thread }: ReadSource, index: number, frame: Frame): string | number {
  const type = api.lua_type(thread, index)
  if (type === luaType.string) {
    const key = api.readText(thread, index)
    if (typeof key === 'string') return key
    throw new Error(`${placeOf(frame.outer)} has a key that is not UTF-8, which cannot leave Lua`)
  }
  if (type === luaType.number) {
    const key = api.readNumber(thread, index)
    return typeof key === 'bigint' ? String(key) : key
  }
  if (type === luaType.boolean) return String(Boolean(api.lua_toboolean(thread, index)))
  throw new Error(`${placeOf(frame.outer)} has a ${api.typeName(thread, type)} as a key, which cannot leave Lua`)
}

/** True when the keys are exactly 1..length. */
function hasOnlyElements({ api, thread }: ReadSource, index: number, length: number): boolean {
  let count = 0
  api.lua_pushnil(thread)
  while (api.lua_next(thread, index)) {
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

/**
 * Keys in a fixed order, because the order of a Lua table differs from state to state. A text key takes precedence over
 * an equal number.
 */
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

/** The position in the value, for example `a.b[2]`. */
function placeOf(frame: Frame | undefined): string {
  let text = ''
  for (let current = frame; current !== undefined; current = current.outer) text = stepText(current.step) + text
  return text === '' ? 'the value' : text.replace(/^\./, '')
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
