import { loadCsvWriter } from '../../base/csv.ts'
import { optionsTable, text } from './arguments.ts'
import { rowCells, tableCells } from './csv-cells.ts'
import { csvContent, loadRowReader } from './csv-content.ts'
import { csvContentOptions, csvDialect, rowReading } from './csv-options.ts'
import type { HostModule } from './module.ts'

/** `aip.csv` (spec/aipack.md 6.2, vectors 60 to 64). All of it acts only to be able to wait for its code. */
export const csvModule: HostModule = {
  name: 'aip.csv',
  functions: {
    /**
     * `aip.csv.parse_row(row, options?) → list`
     *
     * The cells of the first row of a text, all of them strings; an empty list when there is none. Takes `delimiter`,
     * `quote`, `escape` and `trim_fields`. A quote that is not closed is an error.
     */
    parse_row: {
      effect: 'act',
      call: async ([row, options]) => {
        const name = 'aip.csv.parse_row'
        const line = text(row, name, 'the row')
        const reading = rowReading(optionsTable(options, name), name)
        const read = await loadRowReader(name)
        return [read(line, { ...reading, most: 1 }, 'the row')[0] ?? []]
      },
    },
    /**
     * `aip.csv.parse(content, options?) → {_type = "CsvContent", headers, rows}`
     *
     * Reads CSV text. The first row is the header unless `has_header = false`; `header_labels = {key = label}` gives
     * columns other names; `comment = "#"` leaves out lines that begin so; rows without any text are left out unless
     * `skip_empty_lines = false`. Cells are strings, and rows may have different lengths. A quote that is not closed is
     * an error that names the line.
     */
    parse: {
      effect: 'act',
      call: async ([content, options]) => {
        const name = 'aip.csv.parse'
        const data = text(content, name, 'the content')
        const how = csvContentOptions(optionsTable(options, name), name)
        const read = await loadRowReader(name)
        return [csvContent(read(data, how.reading, 'the content'), how)]
      },
    },
    /**
     * `aip.csv.values_to_row(values, options?) → string`
     *
     * A list of values as one CSV row without a line break at its end. nil ends the list, `null` is an empty cell, tables
     * become JSON. Takes `delimiter`, `quote` and `escape`. Functions are an error.
     */
    values_to_row: {
      effect: 'act',
      tables: 'data',
      call: async ([values, options]) => {
        const name = 'aip.csv.values_to_row'
        const cells = rowCells(values, { name, what: 'the values' })
        const dialect = csvDialect(optionsTable(options, name), name)
        const write = await loadCsvWriter()
        return [write(cells, dialect)]
      },
    },
    /**
     * `aip.csv.value_lists_to_rows(lists, options?) → list`
     *
     * The same for each list of a list. An error names the row.
     */
    value_lists_to_rows: {
      effect: 'act',
      tables: 'data',
      call: async ([lists, options]) => {
        const name = 'aip.csv.value_lists_to_rows'
        const rows = tableCells(lists, { name, what: 'row' })
        const dialect = csvDialect(optionsTable(options, name), name)
        const write = await loadCsvWriter()
        return [rows.map((row) => write(row, dialect))]
      },
    },
  },
}
