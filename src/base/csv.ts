import type { Options as ReadOptions } from 'csv-parse/sync'
import { recutRow } from './csv-row.ts'
import { messageOf } from './error.ts'

/** The characters that make CSV of text; one character each. */
export interface CsvDialect {
  readonly delimiter: string
  readonly quote: string
  /** Stands before a quote inside quotes. */
  readonly escape: string
}

export interface CsvReading extends CsvDialect {
  /** A line that begins with it is left out. */
  readonly comment?: string
  /** Takes white space off both ends of each cell. */
  readonly trim: boolean
  /** How many rows to read at most; the rest is not looked at. */
  readonly most?: number
}

/** What the parser gives with `raw`. */
interface RawRow {
  readonly record: readonly string[]
  /** The text of the row. */
  readonly raw: string
}

export type CsvRows = readonly (readonly string[])[]

/** Rows of cells of UTF-8 text or its bytes. @throws Error that names the line of a quote that is wrong */
export type CsvReader = (data: string | Uint8Array, reading: CsvReading) => CsvRows

/** One row as a line without its end. */
export type CsvWriter = (row: readonly string[], dialect: CsvDialect) => string

/**
 * The reader, once its code is loaded. Rows may have different lengths, and end with LF, CR LF or CR; lines without any
 * character are left out; a byte order mark is no text; a quote inside a cell that does not begin with one is text, and so
 * is what stands behind the closing quote of a cell.
 */
export async function loadCsvReader(): Promise<CsvReader> {
  const { parse, CsvError } = await import('csv-parse/sync')
  return (data, reading) => {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    try {
      const rows = parse(bytes, readOptions(reading))
      if (reading.trim) return rows.map((row) => row.map((cell) => cell.trim()))
      // the parser keeps the quotes of a cell that goes on behind them: rare enough to read all again
      const isDoubtful = (row: readonly string[]): boolean => row.some((cell) => cell.startsWith(reading.quote))
      if (!rows.some(isDoubtful)) return rows
      const again = parse(bytes, { ...readOptions(reading), raw: true }) as unknown as readonly RawRow[]
      return again.map(({ record, raw }) => (isDoubtful(record) ? recutRow(raw, reading) : record))
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      throw new Error(problemOf(error, bytes, reading), { cause: error })
    }
  }
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
      return `there is text behind a closing quote (line ${Number(Reflect.get(error, 'lines'))})`
    default:
      return messageOf(error)
  }
}

function lineAt(bytes: Uint8Array, offset: number): number {
  const before = Buffer.from(bytes.buffer, bytes.byteOffset, Math.max(0, offset)).toString('latin1')
  return before.split(/\r\n|\n|\r/).length
}

/**
 * The writer, once its code is loaded. Cells with a delimiter, a quote or a line break are quoted; a row that would be an
 * empty line is an empty cell in quotes, so that it can be read again.
 */
export async function loadCsvWriter(): Promise<CsvWriter> {
  const { stringify } = await import('csv-stringify/sync')
  return (row, { delimiter, quote, escape }) =>
    stringify([[...row]], { delimiter, quote, escape, eof: false }) || quote + quote
}
