import { BatonError } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'

/** A table with text keys, as it comes from Lua. */
export type LuaTable = { readonly [key: string]: LuaValue }

/** The error for an argument that a function cannot take. `name` is the function, for example `aip.file.load`. */
export function argumentError(name: string, problem: string): BatonError {
  return new BatonError('SCRIPT_FAILED', `${name}: ${problem}`)
}

/** What Lua's `type` says. */
export function luaTypeName(value: LuaValue): string {
  if (value === undefined) return 'nil'
  if (value === null) return 'userdata'
  if (typeof value === 'bigint') return 'number'
  if (typeof value === 'object') return value instanceof Uint8Array ? 'string' : 'table'
  return typeof value
}

/** A text that may be nil. Bytes that are not UTF-8 are replaced by U+FFFD, as AIPack does. */
export function optionalText(value: LuaValue, name: string, what = 'argument 1'): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  throw argumentError(name, `${what} must be a string or nil, but was ${luaTypeName(value)}`)
}

/** A text. Numbers become text, as everywhere in Lua. */
export function text(value: LuaValue, name: string, what = 'argument 1'): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  const found = value === undefined ? undefined : optionalText(value, name, what)
  if (found !== undefined) return found
  throw argumentError(name, `${what} must be a string, but was nil`)
}

/** A path: a text without NUL. */
export function pathText(value: LuaValue, name: string, what = 'the path'): string {
  const path = text(value, name, what)
  if (!path.includes('\0')) return path
  throw argumentError(name, `${what} holds a NUL character`)
}

/** Content for a file: text, or bytes as they are. */
export function content(value: LuaValue, name: string, what: string): string | Uint8Array {
  return value instanceof Uint8Array ? value : text(value, name, what)
}

/** A whole number. Floats with a fraction are refused. */
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

/** A list; an empty table is an empty list. */
export function list(value: LuaValue, name: string, what: string): readonly LuaValue[] {
  if (Array.isArray(value)) return value
  if (isTable(value) && Object.keys(value).length === 0) return []
  throw argumentError(
    name,
    `${what} must be a list, but was ${isTable(value) ? 'a table with keys' : luaTypeName(value)}`,
  )
}

/** A list of texts; one text stands for a list of one (spec/aipack.md 6.0). Numbers in a list become text. */
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

/** Options: nil and null stand for none. Keys that a function does not know are not looked at. */
export function optionsTable(value: LuaValue, name: string): LuaTable {
  if (value === undefined || value === null) return {}
  if (!isTable(value)) throw argumentError(name, `the options must be a table, but were ${luaTypeName(value)}`)
  if (!Array.isArray(value)) return value as LuaTable
  if (value.length === 0) return {}
  throw argumentError(name, 'the options must be a table with keys, but were a list')
}

/** A text option; nil and null stand for "not given". */
export function textOption(options: LuaTable, key: string, name: string): string | undefined {
  const value = options[key]
  return value === undefined || value === null ? undefined : text(value, name, `the option ${key}`)
}

/** The option `extrude`: whether the text without what was taken out is wanted, too. */
export function extrudeOption(options: LuaTable, name: string): boolean {
  const extrude = textOption(options, 'extrude', name)
  if (extrude === undefined || extrude === 'content') return extrude !== undefined
  throw argumentError(name, `the option extrude must be "content", but was "${extrude}"`)
}

/** A switch that is off unless it is `true`. */
export function flagOption(options: LuaTable, key: string, name: string): boolean {
  const value = options[key]
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw argumentError(name, `the option ${key} must be true or false, but was ${luaTypeName(value)}`)
}
