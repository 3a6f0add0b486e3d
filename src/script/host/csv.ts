import { type CsvDialect, type CsvReading, type CsvRows, loadCsvReader, loadCsvWriter } from '../../base/csv.ts'
import type { LuaValue } from '../engine.ts'
import { type HostCall, isTable, type LuaTable, luaTypeName, type Options } from './call.ts'
import { jsonText } from './json.ts'
import { type HostModule, slow } from './module.ts'

/** `aip.csv`. Its code is loaded on the first call. */
export const csvModule: HostModule = {
  name: 'aip.csv',
  functions: {
    /**
     * `aip.csv.parse_row(row, options?) → list` The cells of the first row of a text, all as strings; an empty list if
     * there is no row. Takes `delimiter`, `quote`, `escape` and `trim_fields`. An unclosed quote is an error.
     */
    parse_row: slow(async (call) => {
      const line = call.text(0, 'the row')
      const reading = rowReading(call.options(1))
      const read = await loadRowReader(call)
      return read(line, { ...reading, most: 1 }, 'the row')[0] ?? []
    }),
    /**
     * `aip.csv.parse(content, options?) → {_type = "CsvContent", headers, rows}` Reads CSV text. The first row is the
     * header unless `has_header = false`; `header_labels = {key = label}` renames columns; `comment = "#"` skips lines
     * that start with it; rows without any text are skipped unless `skip_empty_lines = false`. Cells are strings, and
     * rows may have different lengths. An unclosed quote is an error that names the line.
     */
    parse: slow(async (call) => {
      const content = call.text(0, 'the content')
      const how = csvContentOptions(call, 1)
      const read = await loadRowReader(call)
      return csvContent(read(content, how.reading, 'the content'), how)
    }),
    /**
     * `aip.csv.values_to_row(values, options?) → string` A list of values as one CSV row without a trailing line break.
     * nil ends the list, `null` becomes an empty cell, tables become JSON. Takes `delimiter`, `quote` and `escape`.
     * Functions are an error.
     */
    values_to_row: slow(
      async (call) => {
        const cells = rowCells(call.args[0], 'the values', call)
        const dialect = csvDialect(call.options(1))
        return (await loadCsvWriter())(cells, dialect)
      },
      { tables: 'data' },
    ),
    /**
     * `aip.csv.value_lists_to_rows(lists, options?) → list` The same for each list in a list. An error names the row.
     */
    value_lists_to_rows: slow(
      async (call) => {
        const rows = tableCells(call.args[0], call)
        const dialect = csvDialect(call.options(1))
        const write = await loadCsvWriter()
        return rows.map((row) => write(row, dialect))
      },
      { tables: 'data' },
    ),
  },
}

/** Delimiter, quote and escape. Only the first character of each counts; an empty string means the default. */
export function csvDialect(options: Options): CsvDialect {
  const quote = character(options, 'quote') ?? '"'
  return { delimiter: character(options, 'delimiter') ?? ',', quote, escape: character(options, 'escape') ?? quote }
}

/** The options for reading one row: those for comments and headers are ignored. */
export function rowReading(options: Options): CsvReading {
  return { ...csvDialect(options), trim: options.flag('trim_fields') }
}

function character(options: Options, key: string): string | undefined {
  const [first] = options.text(key) ?? ''
  return first
}

interface CsvContentOptions {
  readonly reading: CsvReading
  readonly hasHeader: boolean
  /** Skips rows whose cells are all empty or whitespace. */
  readonly skipsEmpty: boolean
  readonly labels: HeaderLabels
}

/** The options for reading a whole CSV text; by default, the first row is a header. */
export function csvContentOptions(call: HostCall, index: number): CsvContentOptions {
  const options = call.options(index)
  const comment = character(options, 'comment')
  return {
    reading: { ...rowReading(options), ...(comment === undefined ? {} : { comment }) },
    hasHeader: options.flag('has_header', 'on'),
    skipsEmpty: options.flag('skip_empty_lines', 'on'),
    labels: headerLabels(options, call),
  }
}

type HeaderLabels = ReadonlyMap<string, string>

/** The option `header_labels`. */
export function headerLabels(options: Options, call: HostCall): HeaderLabels {
  const labels = options.get('header_labels')
  if (labels === undefined) return new Map()
  const isKeyed = isTable(labels) && (!Array.isArray(labels) || labels.length === 0)
  if (!isKeyed) throw call.error('the option header_labels must be a table of key = label')
  return new Map(
    Object.entries(labels).map(([key, label]: [string, LuaValue]) => {
      if (typeof label === 'string') return [key, label]
      throw call.error(`the option header_labels.${key} must be a string, but was ${luaTypeName(label)}`)
    }),
  )
}

/** Reads rows for a function. `what` names the text in messages. @throws BatonError SCRIPT_FAILED naming the line */
export type RowReader = (data: string | Uint8Array, reading: CsvReading, what: string) => CsvRows

export async function loadRowReader(call: HostCall): Promise<RowReader> {
  const read = await loadCsvReader()
  return (data, reading, what) => call.attempt(() => read(data, reading), `${what}: `)
}

/** The CsvContent table of the parsed rows, with the header's labels renamed to their keys. */
export function csvContent(rows: CsvRows, { hasHeader, skipsEmpty, labels }: CsvContentOptions): LuaTable {
  const [header = []] = rows
  const body = hasHeader ? rows.slice(1) : rows
  const keys = new Map([...labels].map(([key, label]) => [label, key]))
  return {
    _type: 'CsvContent',
    headers: hasHeader ? header.map((label) => keys.get(label) ?? label) : [],
    rows: skipsEmpty ? body.filter((row) => row.some((cell) => cell.trim() !== '')) : body,
  }
}

/** A row of cells as text, up to the first nil. Tables are read as `data`. `what` names the row in messages. */
export function rowCells(value: LuaValue, what: string, call: HostCall): readonly string[] {
  return sequence(value, what, call).map((cell, index) => cellText(cell, `${what}[${index + 1}]`, call))
}

/** The rows of a list of lists. */
export function tableCells(value: LuaValue, call: HostCall): readonly (readonly string[])[] {
  return sequence(value, 'the rows', call).map((row, index) => rowCells(row, `row ${index + 1}`, call))
}

/** The text of a cell: empty for nil and null, JSON for tables. */
export function cellText(value: LuaValue, what: string, call: HostCall): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number') return numberText(value)
  if (typeof value !== 'object') return String(value)
  if (!isTable(value)) throw call.error(`${what} is a ${luaTypeName(value)} that is not UTF-8 text`)
  return call.attempt(() => jsonText(value), `${what}: `)
}

/** Numbers with all digits and no exponent, as AIPack writes them. */
function numberText(value: number): string {
  const [, sign = '', whole = '', fraction = '', exponent = ''] = /^(-?)(\d+)\.?(\d*)e(.*)$/.exec(String(value)) ?? []
  if (exponent === '') return String(value)
  const [digits, point] = [whole + fraction, whole.length + Number(exponent)]
  return sign + (point <= 0 ? `0.${'0'.repeat(-point)}${digits}` : digits.padEnd(point, '0'))
}

/** The items 1, 2, … of a table up to the first nil; other keys are ignored. */
export function sequence(value: LuaValue, what: string, call: HostCall): readonly LuaValue[] {
  if (!isTable(value)) throw call.error(`${what} must be a list, but was ${luaTypeName(value)}`)
  const items: LuaValue[] = []
  const at = (index: number): LuaValue => (Array.isArray(value) ? value[index] : (value as LuaTable)[index + 1])
  for (let item = at(0); item !== undefined; item = at(items.length)) items.push(item)
  return items
}
