import { type CsvReader, type CsvReading, type CsvRows, loadCsvReader } from '../../base/csv.ts'
import { messageOf } from '../../base/error.ts'
import type { LuaTable } from './arguments.ts'
import { argumentError } from './arguments.ts'
import type { CsvContentOptions, HeaderLabels } from './csv-options.ts'

/** Reads rows for a function. `what` is the text in messages. @throws BatonError SCRIPT_FAILED naming the line */
export type RowReader = (data: string | Uint8Array, reading: CsvReading, what: string) => CsvRows

/** A reader whose errors begin with `name`, once its code is loaded. */
export async function loadRowReader(name: string): Promise<RowReader> {
  const read = await loadCsvReader()
  return (data, reading, what) => readOrFail(read, { data, reading }, { name, what })
}

function readOrFail(
  read: CsvReader,
  { data, reading }: { readonly data: string | Uint8Array; readonly reading: CsvReading },
  { name, what }: { readonly name: string; readonly what: string },
): CsvRows {
  try {
    return read(data, reading)
  } catch (error) {
    throw argumentError(name, `${what}: ${messageOf(error)}`)
  }
}

/** The CsvContent table of rows that were read: labels of the header become keys (spec/aipack.md 6.2, vectors 61, 62). */
export function csvContent(rows: CsvRows, { hasHeader, skipsEmpty, labels }: CsvContentOptions): LuaTable {
  const body = hasHeader ? rows.slice(1) : rows
  return {
    _type: 'CsvContent',
    headers: hasHeader ? keysOf(rows[0] ?? [], labels) : [],
    rows: skipsEmpty ? body.filter((row) => row.some((cell) => cell.trim() !== '')) : body,
  }
}

function keysOf(header: readonly string[], labels: HeaderLabels): readonly string[] {
  const keys = new Map([...labels].map(([key, label]) => [label, key]))
  return header.map((label) => keys.get(label) ?? label)
}
