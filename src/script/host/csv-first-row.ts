import type { CsvRows } from '../../base/csv.ts'
import { readPieces } from '../../tool/file-pieces.ts'
import type { Section } from './module.ts'

/**
 * The first row of a file (absolute path), of which only as much is read as it takes to see the begin of a second one;
 * what was read is parsed anew each time it has doubled. undefined when there is no second row, or the text is wrong.
 */
export function firstRow(
  path: string,
  rowsOf: (text: string, most: number) => CsvRows,
  context: Section['context'],
): readonly string[] | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let text = ''
  let next = 0
  let found: readonly string[] | undefined
  const take = (piece: Buffer): boolean => {
    const added = orUndefined(() => decoder.decode(piece, { stream: true }))
    if (added === undefined) return false
    text += added
    if (text.length < next) return true
    next = 2 * text.length
    const [first, second] = orUndefined(() => rowsOf(text, 2)) ?? []
    if (second !== undefined) found = first
    return found === undefined
  }
  readPieces(path, { take }, context)
  return found
}

/** What is wrong with the start of a text, as a quote that is not closed there, need not be wrong with the whole. */
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
