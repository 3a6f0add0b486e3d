import type { Options as ReadOptions } from 'csv-parse/sync'
import { messageOf } from './error.ts'

/** The special characters of CSV, one character each. */
export interface CsvDialect {
  readonly delimiter: string
  readonly quote: string
  /** Precedes a quote inside quotes. */
  readonly escape: string
}

export interface CsvReading extends CsvDialect {
  /** Lines that start with it are skipped. */
  readonly comment?: string
  /** Removes white space from both ends of each cell. */
  readonly trim: boolean
  /** Maximum number of rows; the rest is not read. */
  readonly most?: number
}

/** A result of the parser with `raw`. */
interface RawRow {
  readonly record: readonly string[]
  /** The text of the row. */
  readonly raw: string
}

export type CsvRows = readonly (readonly string[])[]

/** Rows of cells, from UTF-8 text or its bytes. @throws Error that names the line of a wrong quote */
export type CsvReader = (data: string | Uint8Array, reading: CsvReading) => CsvRows

/** One row as a line without its line break. */
export type CsvWriter = (row: readonly string[], dialect: CsvDialect) => string

/**
 * Loads the reader. Rows may have different lengths, and end with LF, CR LF or CR. Empty lines and a byte order mark
 * are skipped. A quote inside a cell that does not start with one is text; text after the closing quote belongs to the
 * cell.
 */
export async function loadCsvReader(): Promise<CsvReader> {
  const { parse, CsvError } = await import('csv-parse/sync')
  return (data, reading) => {
    const bytes = withOneEscape(data, reading)
    try {
      const rows = parse(bytes, readOptions(reading))
      if (reading.trim) return rows.map((row) => row.map((cell) => cell.trim()))
      // the parser keeps the quotes of a cell that continues after them: rare enough to parse everything again
      const isDoubtful = (row: readonly string[]): boolean => row.some((cell) => cell.startsWith(reading.quote))
      if (!rows.some(isDoubtful)) return rows
      const again = parse(bytes, { ...readOptions(reading), raw: true }) as unknown as readonly RawRow[]
      return again.map(({ record, raw }) => (isDoubtful(record) ? splitRow(raw, reading) : record))
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      throw new Error(problemOf(error, bytes, reading), { cause: error })
    }
  }
}

/** As in AIPack, a doubled quote is a quote even if another character is the escape; the parser knows only one way. */
function withOneEscape(data: string | Uint8Array, { delimiter, quote, escape, trim }: CsvReading): Uint8Array {
  if (escape === quote) return typeof data === 'string' ? Buffer.from(data) : data
  const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8')
  const [d, q, e] = [delimiter, quote, escape].map(literalPattern)
  const pair = `${e}[^]|${q}${q}`
  // white space that may start a cell itself is not skipped: the text after it starts at its last character
  const opened = `(?:^\\uFEFF?|[${d}\\r\\n])${trim ? `(?:(?![${d}\\r\\n])\\s)*` : ''}${q}`
  const cell = new RegExp(`(${opened})((?:[^${q}${e}]|${pair})*)`, 'gu')
  const inner = new RegExp(pair, 'gu')
  const escaped = (found: string): string => (found === quote + quote ? escape + quote : found)
  return Buffer.from(
    text.replaceAll(cell, (_, open: string, inside: string) => open + inside.replaceAll(inner, escaped)),
  )
}

function readOptions({ delimiter, quote, escape, comment, trim, most }: CsvReading): ReadOptions {
  return {
    bom: true,
    delimiter,
    quote,
    escape,
    trim,
    comment: comment ?? null,
    comment_no_infix: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    ...(most === undefined ? {} : { to: most }),
  }
}

function problemOf(error: Error & { readonly code: string }, bytes: Uint8Array, { quote }: CsvReading): string {
  switch (error.code) {
    case 'CSV_QUOTE_NOT_CLOSED': {
      const lastCell = Number(Reflect.get(error, 'bytes'))
      return `a quote is not closed (line ${lineAt(bytes, Buffer.from(bytes).indexOf(quote, lastCell))})`
    }
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return `there is text after a closing quote (line ${Number(Reflect.get(error, 'lines'))})`
    default:
      return messageOf(error)
  }
}

function lineAt(bytes: Uint8Array, offset: number): number {
  const before = Buffer.from(bytes.buffer, bytes.byteOffset, Math.max(0, offset)).toString('latin1')
  return before.split(/\r\n|\n|\r/).length
}

/**
 * Loads the writer. Cells with a delimiter, a quote or a line break are quoted. A row that would be an empty line
 * becomes an empty cell in quotes, so that it can be read back.
 */
export async function loadCsvWriter(): Promise<CsvWriter> {
  const { stringify } = await import('csv-stringify/sync')
  return (row, { delimiter, quote, escape }) =>
    stringify([[...row]], { delimiter, quote, escape, eof: false }) || quote + quote
}

/**
 * The cells of one row, in which text may follow the closing quote of a cell: `"x"y` is `xy`, and further quotes are
 * text. Comments and empty lines before the row are skipped.
 */
function splitRow(text: string, { delimiter, quote, escape, comment }: CsvReading): readonly string[] {
  const [d, q, e] = [delimiter, quote, escape].map(literalPattern)
  const skipped = comment === undefined ? '' : `|${literalPattern(comment)}[^\\r\\n]*`
  const start = new RegExp(`(?:[\\r\\n]${skipped})*`, 'uy')
  const escapes = `${e}[${q}${e}]|(?!${q})${e}`
  const quoted = `${q}([^${q}${e}]*(?:(?:${escapes})[^${q}${e}]*)*)${q}?`
  const cell = new RegExp(`(?:${quoted})?([^${d}\\r\\n]*)(${d}?)`, 'uy')
  start.test(text)
  cell.lastIndex = start.lastIndex
  const cells: string[] = []
  for (let more = true; more;) {
    const [, inside = '', rest = '', end] = cell.exec(text) ?? []
    cells.push(inside.replaceAll(new RegExp(`${e}([${q}${e}])`, 'gu'), '$1') + rest)
    more = end === delimiter
  }
  return cells
}

/** A pattern for these characters, also valid inside a character class. */
function literalPattern(text: string): string {
  return Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('')
}
