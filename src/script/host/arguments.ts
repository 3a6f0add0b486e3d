import { BatonError } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'

/** A table with text keys, as it comes from Lua. */
export type LuaTable = { readonly [key: string]: LuaValue }

/** The error for an argument that a function cannot take. `name` is the function, for example `aip.file.load`. */
export function argumentError(name: string, problem: string): BatonError {
  return new BatonError('SCRIPT_FAILED', `${name}: ${problem}`)
}

/** The type name that Lua's `type` returns. */
export function luaTypeName(value: LuaValue): string {
  if (value === undefined) return 'nil'
  if (value === null) return 'userdata'
  if (typeof value === 'bigint') return 'number'
  if (typeof value === 'object') return value instanceof Uint8Array ? 'string' : 'table'
  return typeof value
}

/** A string that may be nil or null. Bytes that are not UTF-8 are replaced by U+FFFD, as AIPack does. */
export function optionalText(value: LuaValue, name: string, what: string): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  throw argumentError(name, `${what} must be a string or nil, but was ${luaTypeName(value)}`)
}

/** A string. Numbers become strings, as everywhere in Lua. */
export function text(value: LuaValue, name: string, what: string): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  const found = value === undefined ? undefined : optionalText(value, name, what)
  if (found !== undefined) return found
  throw argumentError(name, `${what} must be a string, but was nil`)
}

/** A path: a string without NUL. */
export function pathText(value: LuaValue, name: string, what = 'the path'): string {
  const path = text(value, name, what)
  if (!path.includes('\0')) return path
  throw argumentError(name, `${what} contains a NUL character`)
}

/** A whole number. Floats with a fraction are rejected. */
export function integer(value: LuaValue, name: string, what: string): number {
  const number =
    typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? Number(value.trim() || 'x') : value
  if (typeof number === 'number' && Number.isInteger(number)) return number
  const found = typeof value === 'number' ? String(value) : luaTypeName(value)
  throw argumentError(name, `${what} must be a whole number, but was ${found}`)
}

/** True for a table: a list or one with keys. */
export function isTable(value: LuaValue): value is readonly LuaValue[] | LuaTable {
  return luaTypeName(value) === 'table'
}

/** A table with keys; a list counts as one without keys. Undefined for anything but a table. */
export function keyedTable(value: LuaValue): LuaTable | undefined {
  if (!isTable(value)) return undefined
  return Array.isArray(value) ? {} : (value as LuaTable)
}

/** A list; an empty table is an empty list. */
export function list(value: LuaValue, name: string, what: string): readonly LuaValue[] {
  if (Array.isArray(value)) return value
  if (isTable(value) && Object.keys(value).length === 0) return []
  const found = isTable(value) ? 'a table with keys' : luaTypeName(value)
  throw argumentError(name, `${what} must be a list, but was ${found}`)
}

/** A list of strings; a single string counts as a list of one. Numbers in a list become strings. */
export function textList(value: LuaValue, name: string, what: string): readonly string[] {
  if (typeof value === 'string') return [value]
  if (!isTable(value)) {
    throw argumentError(name, `${what} must be a string or a list of strings, but was ${luaTypeName(value)}`)
  }
  return list(value, name, what).map((item, index) => {
    const where = `${what}[${index + 1}]`
    const type = luaTypeName(item)
    if (type === 'string' || type === 'number') return text(item, name, where)
    throw argumentError(name, `${where} must be a string, but was ${type}`)
  })
}
