import { type CsvWriter, loadCsvWriter } from '../../base/csv.ts'
import { appendToFile, saveFile } from '../../tool/workspace-files.ts'
import { fileStatus } from '../../tool/workspace-reads.ts'
import type { Place } from '../../event/effects.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { optionsTable, pathText, type LuaTable } from './arguments.ts'
import { rowCells, tableCells } from './csv-cells.ts'
import { csvDialect } from './csv-options.ts'
import { givenTable, recordTable, type CsvTable, writtenRows } from './csv-table.ts'
import { fileInfo } from './file-info.ts'
import type { ModuleFunction, Section } from './module.ts'
import { endsInsideLine } from './open-line.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` that write CSV (spec/aipack.md 6.2). */
export const csvWriteFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.save_as_csv(path, data, options?) → FileInfo`
   *
   * Writes a file anew from a list of rows, or from `{headers, rows}`. Of a list of rows the first is the header when
   * `has_header = true`. `header_labels = {key = label}` gives columns of the header other names, `skip_header_row = true`
   * leaves the header out. Values become text as in `aip.csv.values_to_row`; an empty table makes an empty file.
   */
  save_as_csv: saving('save_as_csv', ([, data], { name, options }) => givenTable(data, options, name)),
  /**
   * `aip.file.save_records_as_csv(path, records, header_keys, options?) → FileInfo`
   *
   * Writes a file anew from a list of tables: for each a row with its values of `header_keys`, which are the header too.
   * Missing values are empty cells. Options are those of `aip.file.save_as_csv`.
   */
  save_records_as_csv: saving(
    'save_records_as_csv',
    ([, records, keys], { name }) => recordTable({ records, keys }, name),
    3,
  ),
  /**
   * `aip.file.append_csv_rows(path, lists, options?) → FileInfo`
   *
   * Adds rows to the end of a file, which is made when missing; never a header. When the last line of the file has no
   * line break, one is added first.
   */
  append_csv_rows: appending('append_csv_rows', (lists, name) => tableCells(lists, { name, what: 'row' })),
  /**
   * `aip.file.append_csv_row(path, values, options?) → FileInfo`
   *
   * The same for one row.
   */
  append_csv_row: appending('append_csv_row', (values, name) => [rowCells(values, { name, what: 'the values' })]),
}

interface WriteCall {
  readonly name: string
  readonly options: LuaTable
}

/** `optionsAt` counts arguments from 0. */
function saving(
  short: string,
  tableOf: (args: readonly LuaValue[], call: WriteCall) => CsvTable,
  optionsAt = 2,
): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    tables: 'data',
    call: async (args, section, at) => {
      const options = optionsTable(args[optionsAt], name)
      const rows = writtenRows(tableOf(args, { name, options }), options, name)
      const target = sectionPath(args[0], { name }, section)
      saveFile(target, linesOf(rows, options, { name, write: await loadCsvWriter() }), { context: section.context, at })
      return [infoOf(args[0], target, { name, section })]
    },
  }
}

function appending(
  short: string,
  rowsOf: (value: LuaValue, name: string) => readonly (readonly string[])[],
): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    tables: 'data',
    call: async (args, section, at) => {
      const options = optionsTable(args[2], name)
      const rows = rowsOf(args[1], name)
      const target = sectionPath(args[0], { name }, section)
      const added = linesOf(rows, options, { name, write: await loadCsvWriter() })
      const start = added !== '' && needsLineBreak(target, { name, path: args[0] }, { section, at }) ? '\n' : ''
      appendToFile(target, start + added, { context: section.context, at })
      return [infoOf(args[0], target, { name, section })]
    },
  }
}

function linesOf(
  rows: readonly (readonly string[])[],
  options: LuaTable,
  { name, write }: { readonly name: string; readonly write: CsvWriter },
): string {
  const dialect = csvDialect(options, name)
  return rows.map((row) => `${write(row, dialect)}\n`).join('')
}

/** What the file ends with is an observation of its own, at a place below the call. */
function needsLineBreak(
  target: string,
  { name, path }: { readonly name: string; readonly path: LuaValue },
  { section: { context }, at }: { readonly section: Section; readonly at: Place },
): boolean {
  return context.effects.observe([...at, 'read'], { name, args: argumentsToJson([path]) }, () =>
    endsInsideLine(target, context),
  )
}

function infoOf(
  path: LuaValue,
  target: string,
  { name, section: { context } }: { readonly name: string; readonly section: Section },
): LuaTable {
  return fileInfo(pathText(path, name), fileStatus(target, context))
}
