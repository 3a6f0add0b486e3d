import { isUtf8 } from 'node:buffer'
import type { CsvRows } from '../../base/csv.ts'
import { readPieces } from '../../tool/file-pieces.ts'
import { decodeText, readBytes, readText } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { optionsTable, pathText } from './arguments.ts'
import { csvContent, loadRowReader, type RowReader } from './csv-content.ts'
import { csvContentOptions, rowReading } from './csv-options.ts'
import { firstRow } from './csv-first-row.ts'
import { createRowSpans } from './csv-spans.ts'
import type { ModuleFunction, Section } from './module.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` that read CSV (spec/aipack.md 6.2). */
export const csvReadFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_csv_headers(path) → list`
   *
   * The cells of the first row of a CSV file; an empty list when there is none. Only the start of the file is read.
   */
  load_csv_headers: reading('load_csv_headers', (args, { name, section, read }) => {
    const file = sectionPath(args[0], { name }, section)
    const { context } = section
    const rowsOf = (text: string, most: number): CsvRows =>
      read(text, { ...rowReading({}, name), most }, pathText(args[0], name))
    return firstRow(file, rowsOf, context) ?? rowsOf(readText(file, context), 1)[0] ?? []
  }),
  /**
   * `aip.file.load_csv(path, options?) → {_type = "CsvContent", headers, rows}`
   *
   * Reads a CSV file as `aip.csv.parse` reads text, with the same options. A file that is not UTF-8 is an error.
   */
  load_csv: reading('load_csv', ([path, options], { name, section, read }) => {
    const how = csvContentOptions(optionsTable(options, name), name)
    const bytes = readBytes(sectionPath(path, { name }, section), section.context)
    const shown = pathText(path, name)
    return csvContent(read(utf8(bytes, shown), how.reading, shown), how)
  }),
  /**
   * `aip.file.csv_row_spans(path) → {{start, end}, …}`
   *
   * Where each row of a CSV file begins and ends, for `aip.file.read_span`: offsets in bytes from 0, the end behind the
   * last byte of the row, without its line break. Line breaks inside quotes belong to the row; the header and empty
   * lines are rows too.
   */
  csv_row_spans: {
    effect: 'observe',
    call: ([path], section) => {
      const spans = createRowSpans()
      const take = (piece: Buffer): boolean => {
        spans.take(piece)
        return true
      }
      readPieces(sectionPath(path, { name: 'aip.file.csv_row_spans' }, section), { take }, section.context)
      return [spans.end()]
    },
  },
}

interface ReadCall {
  readonly name: string
  readonly section: Section
  readonly read: RowReader
}

/** Observes as other reading functions do, once its code is loaded. */
function reading(short: string, work: (args: readonly LuaValue[], call: ReadCall) => LuaValue): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    call: async (args, section, at) => {
      const read = await loadRowReader(name)
      return section.context.effects.observe(at, { name, args: argumentsToJson(args) }, () => [
        work(args, { name, section, read }),
      ])
    },
  }
}

/** Bytes that are text, so that the reader can take them without a copy. */
function utf8(bytes: Buffer, shown: string): Uint8Array | string {
  return isUtf8(bytes) ? bytes : decodeText(bytes, shown)
}
