import { isUtf8 } from 'node:buffer'
import { part } from '../../event/place.ts'
import { appendToFile, saveFile } from '../../tool/workspace-files.ts'
import { decodeText, fileStatus, readBytes, readPieces, readText } from '../../tool/workspace-reads.ts'
import { captureAsync, unwrap } from '../../journal/work-result.ts'
import type { LuaValue } from '../engine.ts'
import { type ActCall, type HostCall, isTable, keyedTable, type LuaTable, luaTypeName, Options } from './call.ts'
import { converted } from './worker-call.ts'
import { infoOf } from './file-info.ts'
import { jsonText, parseJsonLines } from './json.ts'
import { acting, type ModuleFunction, readingFile, several } from './module.ts'
import { joinPath, pathParts, tidyPath } from './resolve-path.ts'
import { type CsvRows, loadCsvWriter } from '../../base/csv.ts'
import type { ReadContext } from '../../tool/guard.ts'
import {
  cellText,
  csvContent,
  csvContentOptions,
  csvDialect,
  headerLabels,
  loadRowReader,
  rowCells,
  type RowReader,
  rowReading,
  sequence,
  tableCells,
} from './csv.ts'

/** The functions of `aip.file` for TOML, YAML, lines of JSON, HTML and Word documents. */
export const formatFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_toml(path) → table`
   * Reads a TOML file; dates become strings. Invalid TOML is an error that names the file and line.
   */
  load_toml: loadingData('toml'),
  /**
   * `aip.file.load_yaml(path) → list` Reads a YAML file into a list of its documents, even if there is only one.
   * Invalid YAML is an error that names the file and line.
   */
  load_yaml: loadingData('yaml'),
  /**
   * `aip.file.load_ndjson(path) → list` Reads a file with one JSON value on each line; blank lines are skipped. The
   * JSON must be strict; an error names the line.
   */
  load_ndjson: readingFile((call) =>
    parseJsonLines(readText(call.source(0), call.context), `${call.name}: ${call.path(0)}`),
  ),
  /**
   * `aip.file.append_json_line(path, value) → FileInfo`
   * Appends one line with the value as JSON, keys sorted; creates the file if it is missing.
   */
  append_json_line: appendingJson(({ args }) => [args[1]]),
  /**
   * `aip.file.append_json_lines(path, values) → FileInfo`
   * Appends one line for each value of a list; an empty list still creates the file.
   */
  append_json_lines: appendingJson((call) => call.list(1, 'the values')),
  /**
   * `aip.file.load_html_as_slim(path) → string`
   * Reads an HTML file and removes invisible content, like `aip.html.slim`.
   */
  load_html_as_slim: acting((call) => converted('slim', [observedText(call)], call.section)),
  /**
   * `aip.file.load_html_as_md(path, {slim?}?) → string`
   * Reads an HTML file as Markdown. It is slimmed first, unless `slim` (or `trim`) is false.
   */
  load_html_as_md: acting(async (call) => {
    const options = call.options(1)
    const isSlim = options.flag(options.get('trim') === undefined ? 'slim' : 'trim', 'on')
    return markdownOf(call, { isSlim })
  }),
  /**
   * `aip.file.save_html_to_slim(path, dest?) → FileInfo` Saves an HTML file without invisible content, as
   * `<stem>-slim.html` next to it. `dest` is a different path, or a table with `base_dir`, `file_name` and `suffix`.
   */
  save_html_to_slim: converting({ extension: 'html', suffix: '-slim' }, (read) =>
    converted('slim', [observedText(read)], read.section),
  ),
  /**
   * `aip.file.save_html_to_md(path, dest?) → FileInfo` Saves an HTML file as Markdown, as `<stem>.md` next to it.
   * `dest` is a different path, or a table with `base_dir`, `file_name`, `suffix` and `slim`.
   */
  save_html_to_md: converting({ extension: 'md', suffix: '' }, (read, options) =>
    markdownOf(read, { isSlim: options.flag('slim', 'on') }),
  ),
  /**
   * `aip.file.load_docx_as_md(path) → string`
   * The text of a Word document as Markdown: headings (one level lower, the title is the first), lists, tables, links
   * and emphasis; images are dropped. It is an error if the file is missing, not a `.docx` file, damaged or too large.
   */
  load_docx_as_md: acting(docxMarkdown),
  /**
   * `aip.file.save_docx_to_md(path, dest?) → FileInfo` Writes the same to a file: next to the document with the
   * extension `md`, to the path `dest`, or to the path given by `{base_dir?, file_name?, suffix?}`.
   */
  save_docx_to_md: converting({ extension: 'md', suffix: '' }, docxMarkdown),
}

function loadingData(kind: 'toml' | 'yaml'): ModuleFunction {
  return acting((call): Promise<LuaValue> => {
    const source = { text: observedText(call), what: call.path(0), name: call.name }
    return converted(kind, [source], call.section)
  })
}

function appendingJson(valuesOf: (call: HostCall) => readonly LuaValue[]): ModuleFunction {
  return acting(
    (call) => {
      const path = call.path(0)
      const target = call.resolve(path)
      const lines = valuesOf(call).map((value) => `${call.attempt(() => jsonText(value))}\n`)
      appendToFile(target, lines.join(''), call)
      return infoOf(path, target, call.context)
    },
    { tables: 'data' },
  )
}

function observedText(call: ActCall): string {
  return call.observeFile(() => readText(call.source(0), call.context))
}

function markdownOf(call: ActCall, { isSlim }: { readonly isSlim: boolean }): Promise<string> {
  return converted(isSlim ? 'markdownOfSlim' : 'markdown', [observedText(call)], call.section)
}

/** Observes the Markdown, so that a replay does not need the document. */
async function docxMarkdown(call: ActCall): Promise<string> {
  const path = call.source(0)
  const read = await captureAsync(async () => {
    const bytes = readBytes(path, call.context)
    return converted('markdownOfDocx', [bytes, call.shown(path)], call.section)
  })
  return call.observeFile(() => unwrap(read))
}

/** How the name of a converted file is made. */
interface Target {
  readonly extension: string
  /** Follows the stem if the caller names no file, suffix or folder. */
  readonly suffix: string
}

/** Reading is recorded below the call, so that writing can use the place of the call itself. */
function converting(target: Target, convert: (read: ActCall, options: Options) => Promise<string>): ModuleFunction {
  return acting(async (call) => {
    const options = new Options(isTable(call.args[1]) ? call.args[1] : undefined, call.name)
    const path = destination(call, options, target)
    const file = call.resolve(path)
    saveFile(file, await convert(call.below(part('read')), options), call)
    return infoOf(path, file, call.context)
  })
}

/** Where to save, as the caller would write it: next to the source unless the second argument says otherwise. */
function destination(call: HostCall, options: Options, target: Target): string {
  const source = call.path(0)
  if (call.has(1) && !isTable(call.args[1])) return call.path(1, 'the destination')
  const { parent, stem } = pathParts(tidyPath(source))
  if (stem === '') throw call.error(`${source} is not the path of a file`)
  const folder = options.path('base_dir')
  const suffix = options.path('suffix') ?? (folder === undefined ? target.suffix : '')
  const file = options.path('file_name') ?? `${stem}${suffix}.${target.extension}`
  return joinPath(folder ?? parent ?? '', file)
}

/** The functions of `aip.file` that read and write CSV. */
export const csvFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_csv_headers(path) → list` The cells of the first row of a CSV file; an empty list if there is no
   * row. Only the start of the file is read.
   */
  load_csv_headers: reading((call, read) => {
    const file = call.source(0)
    const reading = rowReading(new Options({}, call.name))
    const rowsOf = (text: string, most: number): CsvRows => read(text, { ...reading, most }, call.path(0))
    return firstRow(file, rowsOf, call.context) ?? rowsOf(readText(file, call.context), 1)[0] ?? []
  }),
  /**
   * `aip.file.load_csv(path, options?) → {_type = "CsvContent", headers, rows}` Reads a CSV file like `aip.csv.parse`,
   * with the same options. A file that is not UTF-8 is an error.
   */
  load_csv: reading((call, read) => {
    const how = csvContentOptions(call, 1)
    const bytes = readBytes(call.source(0), call.context)
    const shown = call.path(0)
    // the reader takes UTF-8 bytes without copying them
    return csvContent(read(isUtf8(bytes) ? bytes : decodeText(bytes, shown), how.reading, shown), how)
  }),
  /**
   * `aip.file.csv_row_spans(path) → {{start, end}, …}` The start and end of each row of a CSV file, for
   * `aip.file.read_span`: byte offsets from 0; the end is exclusive and excludes the line break. Line breaks inside
   * quotes belong to the row; the header and empty lines are rows too.
   */
  csv_row_spans: readingFile((call) => rowSpans(call.source(0), call.context)),
  /**
   * `aip.file.save_as_csv(path, data, options?) → FileInfo` Writes a list of rows, or `{headers, rows}`, replacing the
   * file. In a list of rows, the first is the header if `has_header = true`. `header_labels = {key = label}` renames
   * columns in the header, `skip_header_row = true` omits the header. Values become text as in `aip.csv.values_to_row`;
   * an empty table makes an empty file.
   */
  save_as_csv: saving(2, givenTable),
  /**
   * `aip.file.save_records_as_csv(path, records, header_keys, options?) → FileInfo` Writes a list of tables, replacing
   * the file: one row per table with its values for `header_keys`, which also form the header. Missing values become
   * empty cells. Takes the options of `aip.file.save_as_csv`.
   */
  save_records_as_csv: saving(3, recordTable),
  /**
   * `aip.file.append_csv_rows(path, lists, options?) → FileInfo` Appends rows to a file, without a header; creates the
   * file if it is missing. If the last line of the file has no line break, one is added first.
   */
  append_csv_rows: appending((call) => tableCells(call.args[1], call)),
  /** `aip.file.append_csv_row(path, values, options?) → FileInfo` The same for one row. */
  append_csv_row: appending((call) => [rowCells(call.args[1], 'the values', call)]),
}

/** Observes like other reading functions, once its code is loaded. */
function reading(work: (call: HostCall, read: RowReader) => LuaValue): ModuleFunction {
  return acting(async (call) => {
    const read = await loadRowReader(call)
    return several(...call.observeFile(() => [work(call, read)]))
  })
}

/** `optionsAt` is the index of the options among the arguments. */
function saving(optionsAt: number, tableOf: (call: HostCall, options: Options) => CsvTable): ModuleFunction {
  return acting(
    async (call) => {
      const options = call.options(optionsAt)
      const rows = writtenRows(tableOf(call, options), options, call)
      const target = call.file(0)
      saveFile(target, await linesOf(rows, options), call)
      return infoOf(call.path(0), target, call.context)
    },
    { tables: 'data' },
  )
}

function appending(rowsOf: (call: HostCall) => CsvRows): ModuleFunction {
  return acting(
    async (call) => {
      const options = call.options(2)
      const rows = rowsOf(call)
      const target = call.file(0)
      const added = await linesOf(rows, options)
      appendToFile(target, (added !== '' && needsLineBreak(target, call) ? '\n' : '') + added, call)
      return infoOf(call.path(0), target, call.context)
    },
    { tables: 'data' },
  )
}

async function linesOf(rows: CsvRows, options: Options): Promise<string> {
  const write = await loadCsvWriter()
  const dialect = csvDialect(options)
  return rows.map((row) => `${write(row, dialect)}\n`).join('')
}

/** Whether the last line of a file (absolute path) lacks a line break; false if the file is empty or missing. */
function needsLineBreak(path: string, call: ActCall): boolean {
  return call.observeBefore(() => {
    const status = fileStatus(path, call.context)
    if (status?.kind !== 'file' || status.size === 0) return false
    let last = 0
    const take = (piece: Buffer): boolean => {
      last = piece.at(-1) ?? last
      return true
    }
    readPieces(path, { take, from: status.size - 1 }, call.context)
    return last !== 10 && last !== 13
  })
}

/** The content of a CSV file. Without a header, `headers` is empty. */
interface CsvTable {
  readonly header: readonly string[]
  readonly rows: CsvRows
}

/** Reads `{headers?, rows?}` if the data has either, otherwise a list of rows. */
function givenTable(call: HostCall, options: Options): CsvTable {
  const data = call.args[1]
  const table = keyedTable(data)
  if (table === undefined) throw call.error(`the data must be a table, but was ${luaTypeName(data)}`)
  const { headers, rows } = table
  if (headers !== undefined || rows !== undefined) {
    return {
      header: headers === undefined ? [] : texts(headers, call, 'headers'),
      rows: rows === undefined ? [] : tableCells(rows, call),
    }
  }
  if (!Array.isArray(data) && !Object.hasOwn(table, '1')) {
    throw call.error('the data must be a list of rows, or a table with headers and rows')
  }
  const all = tableCells(data, call)
  if (!options.flag('has_header')) return { header: [], rows: all }
  const [header = [], ...rest] = all
  return { header, rows: rest }
}

/** For each record the values of the keys, in the order of the keys. */
function recordTable(call: HostCall): CsvTable {
  const header = texts(call.args[2], call, 'header_keys')
  const rows = sequence(call.args[1], 'the records', call).map((record, index) => {
    const what = `record ${index + 1}`
    const table = keyedTable(record)
    if (table === undefined) throw call.error(`${what} must be a table, but was ${luaTypeName(record)}`)
    return header.map((key) => cellText(valueAt(table, key), `${what}.${key}`, call))
  })
  return { header, rows }
}

function valueAt(record: LuaTable, key: string): LuaValue {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

/** The rows to write: the header first, with its labels, unless it is omitted. */
function writtenRows({ header, rows }: CsvTable, options: Options, call: HostCall): CsvRows {
  const labels = headerLabels(options, call)
  if (header.length === 0 || options.flag('skip_header_row')) return rows
  return [header.map((key) => labels.get(key) ?? key), ...rows]
}

function texts(value: LuaValue, call: HostCall, what: string): readonly string[] {
  return sequence(value, what, call).map((item, index) => {
    if (typeof item === 'string') return item
    throw call.error(`${what}[${index + 1}] must be a string, but was ${luaTypeName(item)}`)
  })
}

/**
 * The first row of a file (absolute path), of which only the start is read. Undefined if that start contains no second
 * row, because the first one may then be incomplete.
 */
function firstRow(
  path: string,
  rowsOf: (text: string, most: number) => CsvRows,
  context: ReadContext,
): readonly string[] | undefined {
  let found: readonly string[] | undefined
  const take = (piece: Buffer): boolean => {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(piece, { stream: true })
      const [first, second] = rowsOf(text, 2)
      if (second !== undefined) found = first
    } catch {
      // an error in the start of a text, such as an unclosed quote, may not be one in the whole text
    }
    return false
  }
  readPieces(path, { take }, context)
  return found
}

const quote = 34
const lineFeed = 10
const carriageReturn = 13

/** A line feed ends a row unless it is inside quotes; empty lines are rows too. */
function rowSpans(path: string, context: ReadContext): readonly (readonly [number, number])[] {
  const spans: [number, number][] = []
  let position = 0
  let start = 0
  let isQuoted = false
  let previous = 0
  const take = (piece: Buffer): boolean => {
    for (const byte of piece) {
      // a doubled quote toggles twice
      if (byte === quote) isQuoted = !isQuoted
      else if (byte === lineFeed && !isQuoted) {
        spans.push([start, previous === carriageReturn ? position - 1 : position])
        start = position + 1
      }
      previous = byte
      position++
    }
    return true
  }
  readPieces(path, { take }, context)
  return start < position ? [...spans, [start, position]] : spans
}
