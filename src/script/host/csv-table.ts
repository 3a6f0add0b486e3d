import type { LuaValue } from '../engine.ts'
import { argumentError, flagOption, isTable, type LuaTable, luaTypeName } from './arguments.ts'
import { cellText, sequence, tableCells } from './csv-cells.ts'
import { headerLabels } from './csv-options.ts'

/** What is written into a CSV file. Without a header its list is empty. */
export interface CsvTable {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The argument of `save_as_csv`: `{headers?, rows?}` when it has one of them, else rows (spec/aipack.md 6.2). */
export function givenTable(data: LuaValue, options: LuaTable, name: string): CsvTable {
  if (!isTable(data)) throw argumentError(name, `the data must be a table, but was ${luaTypeName(data)}`)
  const { headers, rows } = Array.isArray(data) ? {} : (data as LuaTable)
  if (headers === undefined && rows === undefined) return matrix(data, options, name)
  return {
    header: headers === undefined ? [] : texts(headers, name, 'headers'),
    rows: rows === undefined ? [] : tableCells(rows, { name, what: 'row' }),
  }
}

function matrix(data: readonly LuaValue[] | LuaTable, options: LuaTable, name: string): CsvTable {
  if (!Array.isArray(data) && !Object.hasOwn(data, '1')) {
    throw argumentError(name, 'the data must be a list of rows, or a table with headers and rows')
  }
  const rows = tableCells(data, { name, what: 'row' })
  if (!flagOption(options, 'has_header', name)) return { header: [], rows }
  const [header = [], ...rest] = rows
  return { header, rows: rest }
}

/** Of each record the values of these keys, in their order. */
export function recordTable(
  { records, keys }: { readonly records: LuaValue; readonly keys: LuaValue },
  name: string,
): CsvTable {
  const header = texts(keys, name, 'header_keys')
  const rows = sequence(records, { name, what: 'the records' }).map((record, index) => {
    const what = `record ${index + 1}`
    if (!isTable(record)) throw argumentError(name, `${what} must be a table, but was ${luaTypeName(record)}`)
    return header.map((key) => cellText(valueAt(record, key), { name, what: `${what}.${key}` }))
  })
  return { header, rows }
}

function valueAt(record: readonly LuaValue[] | LuaTable, key: string): LuaValue {
  return Array.isArray(record) || !Object.hasOwn(record, key) ? undefined : (record as LuaTable)[key]
}

/** The rows as they are written: the header first, with its labels, unless it is to be left out. */
export function writtenRows(
  { header, rows }: CsvTable,
  options: LuaTable,
  name: string,
): readonly (readonly string[])[] {
  const labels = headerLabels(options, name)
  if (header.length === 0 || flagOption(options, 'skip_header_row', name)) return rows
  return [header.map((key) => labels.get(key) ?? key), ...rows]
}

function texts(value: LuaValue, name: string, what: string): readonly string[] {
  return sequence(value, { name, what }).map((item, index) => {
    if (typeof item === 'string') return item
    throw argumentError(name, `${what}[${index + 1}] must be a string, but was ${luaTypeName(item)}`)
  })
}
