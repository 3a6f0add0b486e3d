import { compareBytes } from '../../base/byte-order.ts'
import type { LuaValue } from '../engine.ts'
import { isTable, luaTypeName, type LuaTable } from './arguments.ts'

/** What TOML and YAML are written from: JSON data, with integers of any size. */
export type PlainData = null | boolean | number | bigint | string | readonly PlainData[] | PlainTable
export interface PlainTable {
  readonly [key: string]: PlainData
}

/**
 * A Lua value read as `data` (spec/aipack.md 6.0) with its keys in byte order. nil in a list and null are null.
 * @throws Error for NaN, infinity and text that is not UTF-8, saying where
 */
export function plainData(value: LuaValue, where = 'the value'): PlainData {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new Error(`${where} is ${value}, which is no number that can be written`)
  }
  if (!isTable(value)) throw new Error(`${where} is a ${luaTypeName(value)} that is not UTF-8 text`)
  if (Array.isArray(value)) return value.map((item: LuaValue, index) => plainData(item, `${where}[${index + 1}]`))
  const table = value as LuaTable
  const keys = Object.keys(table).filter((key) => table[key] !== undefined)
  return Object.fromEntries(keys.toSorted(compareBytes).map((key) => [key, plainData(table[key], `${where}.${key}`)]))
}
