import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, luaTypeName, type LuaTable } from './arguments.ts'
import { jsonText } from './json-text.ts'

/** Which function is writing, and what of it, for messages. */
export interface CellPlace {
  readonly name: string
  readonly what: string
}

/** A row of cells as text, up to the first nil (spec/aipack.md 6.2). Tables are read as `data`. */
export function rowCells(value: LuaValue, { name, what }: CellPlace): readonly string[] {
  return sequence(value, { name, what }).map((cell, index) => cellText(cell, { name, what: `${what}[${index + 1}]` }))
}

/** The rows of a list of lists. `what` is what messages call a row. */
export function tableCells(value: LuaValue, { name, what }: CellPlace): readonly (readonly string[])[] {
  return sequence(value, { name, what: `the ${what}s` }).map((row, index) =>
    rowCells(row, { name, what: `${what} ${index + 1}` }),
  )
}

/** The text of a cell: nothing for nil and null, JSON for tables. */
export function cellText(value: LuaValue, { name, what }: CellPlace): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value !== 'object') return String(value)
  if (!isTable(value)) throw argumentError(name, `${what} is a ${luaTypeName(value)} that is not UTF-8 text`)
  try {
    return jsonText(value)
  } catch (error) {
    throw argumentError(name, `${what}: ${messageOf(error)}`)
  }
}

/** The items 1, 2, … of a table up to the first nil, whatever else is in it. */
export function sequence(value: LuaValue, { name, what }: CellPlace): readonly LuaValue[] {
  if (!isTable(value)) throw argumentError(name, `${what} must be a list, but was ${luaTypeName(value)}`)
  const items: readonly LuaValue[] = Array.isArray(value) ? value : numbered(value as LuaTable)
  const end = items.indexOf(undefined)
  return end === -1 ? items : items.slice(0, end)
}

function numbered(table: LuaTable): readonly LuaValue[] {
  const items: LuaValue[] = []
  for (let index = 1; table[index] !== undefined; index++) items.push(table[index])
  return items
}
