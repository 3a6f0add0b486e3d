/** Indentation of a line as the hunk writes it and as the file has it. */
export interface IndentPair {
  readonly written: string
  readonly found: string
}

/**
 * The line (as the hunk writes it) with the indentation it has in the file: moved by as much as the line beside it is
 * moved, with the file's tabs or blanks. `beside` is the nearest line that is in both, `pairs` are all of them.
 */
export function reindent(line: string, beside: IndentPair | undefined, pairs: readonly IndentPair[]): string {
  if (beside === undefined || line.trim() === '') return line
  const { written, found } = beside
  const indent = indentOf(line)
  const content = line.slice(indent.length)
  if (indent === written) return found + content
  const convert = converter(pairs)
  return moved(convert(indent), convert(written), found) + content
}

export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

function moved(indent: string, from: string, to: string): string {
  const more = to.length - from.length
  if (more >= 0) return to.slice(0, more) + indent
  return indent.slice(Math.min(-more, indent.length))
}

/** Rewrites blanks of the hunk as tabs of the file or the other way round, when the two differ in that. */
function converter(pairs: readonly IndentPair[]): (indent: string) => string {
  const usesTabs = ({ found, written }: IndentPair): boolean => found.includes('\t') && !written.includes('\t')
  const usesBlanks = ({ found, written }: IndentPair): boolean => written.includes('\t') && !found.includes('\t')
  if (pairs.some(usesTabs)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: written.length, tabs: found.length })))
    return (indent) => indent.replaceAll(' '.repeat(width), '\t')
  }
  if (pairs.some(usesBlanks)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: found.length, tabs: written.length })))
    return (indent) => indent.replaceAll('\t', ' '.repeat(width))
  }
  return (indent) => indent
}

const defaultWidth = 4

/** From how the indentation grows between two lines, else from that of one line. */
function blanksPerTab(lines: readonly { readonly blanks: number; readonly tabs: number }[]): number {
  const distinct = lines.toSorted((a, b) => a.tabs - b.tabs)
  const least = distinct[0]
  const most = distinct.at(-1)
  if (least === undefined || most === undefined) return defaultWidth
  const width =
    most.tabs > least.tabs
      ? (most.blanks - least.blanks) / (most.tabs - least.tabs)
      : most.blanks / Math.max(1, most.tabs)
  return Number.isInteger(width) && width >= 1 && width <= 8 ? width : defaultWidth
}
