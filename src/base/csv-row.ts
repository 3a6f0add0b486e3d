import type { CsvDialect, CsvReading } from './csv.ts'

/**
 * The cells of the text of one row of CSV, in which a cell may go on behind its closing quote: `"x"y` is `xy`, and quotes
 * further on are text. Comments and lines without any character may stand before it; a line break outside quotes ends it.
 */
export function recutRow(text: string, dialect: Omit<CsvReading, 'trim' | 'most'>): readonly string[] {
  const cells: string[] = []
  for (let at = startOf(text, dialect); ;) {
    const { cell, end } = readCell(text, at, dialect)
    cells.push(cell)
    if (!text.startsWith(dialect.delimiter, end)) return cells
    at = end + dialect.delimiter.length
  }
}

function startOf(text: string, { comment }: Pick<CsvReading, 'comment'>): number {
  for (let at = 0; ; at += /^[^\r\n]*[\r\n]*/.exec(text.slice(at))?.[0].length ?? text.length) {
    const isBlank = text[at] === '\r' || text[at] === '\n'
    if (!isBlank && (comment === undefined || !text.startsWith(comment, at))) return at
  }
}

interface Cut {
  readonly cell: string
  readonly end: number
}

function readCell(text: string, start: number, dialect: CsvDialect): Cut {
  const quoted = text.startsWith(dialect.quote, start) ? readQuoted(text, start, dialect) : { cell: '', end: start }
  const delimiter = text.indexOf(dialect.delimiter, quoted.end)
  const rest = text.slice(quoted.end, delimiter === -1 ? text.length : delimiter)
  const plain = /^[^\r\n]*/.exec(rest)?.[0] ?? ''
  return { cell: quoted.cell + plain, end: quoted.end + plain.length }
}

/** From a quote to behind the one that closes it. */
function readQuoted(text: string, start: number, { quote, escape }: CsvDialect): Cut {
  let cell = ''
  let at = start + quote.length
  while (at < text.length) {
    const kept = text.startsWith(escape, at) ? escapedAt(text, at + escape.length, [quote, escape]) : undefined
    if (kept !== undefined) {
      cell += kept
      at += escape.length + kept.length
    } else if (text.startsWith(quote, at)) {
      return { cell, end: at + quote.length }
    } else {
      cell += text[at] ?? ''
      at += 1
    }
  }
  return { cell, end: at }
}

function escapedAt(text: string, at: number, marks: readonly string[]): string | undefined {
  return marks.find((mark) => text.startsWith(mark, at))
}
