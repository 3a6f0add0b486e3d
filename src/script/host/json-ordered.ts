import { compareBytes } from '../../base/byte-order.ts'
import type { Json } from '../../base/json.ts'
import type { LuaValue } from '../engine.ts'
import { isTable, type LuaTable } from './arguments.ts'

/**
 * True when `JSON.stringify` writes the `ordered` value as it should be, many times faster than piece by piece. It has
 * no big integers, takes NaN for null, and puts keys that are numbers first.
 */
export function isOrderable(value: LuaValue): boolean {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value)
    case 'object':
      if (value === null) return true
      if (Array.isArray(value)) return value.every(isOrderable)
      return (
        isTable(value) && Object.entries(value as LuaTable).every(([key, item]) => keepsPlace(key) && isOrderable(item))
      )
    default:
      return typeof value !== 'bigint'
  }
}

function keepsPlace(key: string): boolean {
  const first = key.charCodeAt(0)
  const isDigit = first >= 48 && first <= 57
  return !isDigit && key !== '__proto__'
}

/** The value with the keys of its tables in byte order, nil as null, and without keys whose value is nil. */
export function ordered(value: LuaValue): Json {
  if (value === undefined) return null
  if (Array.isArray(value)) return value.map(ordered)
  if (!isTable(value)) return value as Json
  const table = value as LuaTable
  const copy: { [key: string]: Json } = {}
  for (const key of Object.keys(table).toSorted(compareBytes)) {
    const item = table[key]
    if (item !== undefined) copy[key] = ordered(item)
  }
  return copy
}
