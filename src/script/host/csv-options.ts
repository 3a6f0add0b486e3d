import type { CsvDialect, CsvReading } from '../../base/csv.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, flagOption, isTable, type LuaTable, luaTypeName, textOption } from './arguments.ts'

/** What a CSV text is read with, when the caller says nothing else: the first row is a header (spec/aipack.md 12, 12). */
export interface CsvContentOptions {
  readonly reading: CsvReading
  readonly hasHeader: boolean
  /** Leaves out rows whose cells are all empty or white space. */
  readonly skipsEmpty: boolean
  readonly labels: HeaderLabels
}

/** Key to label, as in `header_labels`. */
export type HeaderLabels = ReadonlyMap<string, string>

/** Delimiter, quote and escape. Of longer texts the first character counts; an empty one stands for the default. */
export function csvDialect(options: LuaTable, name: string): CsvDialect {
  const quote = character(options, 'quote', name) ?? '"'
  return {
    delimiter: character(options, 'delimiter', name) ?? ',',
    quote,
    escape: character(options, 'escape', name) ?? quote,
  }
}

/** How one row is read: comments and headers do not count. */
export function rowReading(options: LuaTable, name: string): CsvReading {
  return { ...csvDialect(options, name), trim: flagOption(options, 'trim_fields', name) }
}

/** @throws BatonError SCRIPT_FAILED that names the option */
export function csvContentOptions(options: LuaTable, name: string): CsvContentOptions {
  const comment = character(options, 'comment', name)
  return {
    reading: { ...rowReading(options, name), ...(comment === undefined ? {} : { comment }) },
    hasHeader: isNotOff(options, 'has_header', name),
    skipsEmpty: isNotOff(options, 'skip_empty_lines', name),
    labels: headerLabels(options, name),
  }
}

/** The option `header_labels`. */
export function headerLabels({ header_labels: labels }: LuaTable, name: string): HeaderLabels {
  if (labels === undefined || labels === null) return new Map()
  const isKeyed = isTable(labels) && (!Array.isArray(labels) || labels.length === 0)
  if (!isKeyed) throw argumentError(name, 'the option header_labels must be a table of key = label')
  return new Map(
    Object.entries(labels).map(([key, label]: [string, LuaValue]) => {
      if (typeof label === 'string') return [key, label]
      throw argumentError(name, `the option header_labels.${key} must be a string, but was ${luaTypeName(label)}`)
    }),
  )
}

function character(options: LuaTable, key: string, name: string): string | undefined {
  const [first] = textOption(options, key, name) ?? ''
  return first
}

/** A switch that is on unless it is `false`. */
function isNotOff(options: LuaTable, key: string, name: string): boolean {
  return options[key] === undefined || options[key] === null || flagOption(options, key, name)
}
