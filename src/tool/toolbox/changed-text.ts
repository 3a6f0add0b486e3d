import { modelText } from '../../base/model-text.ts'
import type { ReplacedLines } from '../changes/replace-text.ts'
import { linesText, numberedLines } from './numbered-lines.ts'

/** Context lines shown before and after a place. */
const around = 2
/** Beyond this number of places, only the line numbers are given. */
const mostPlaces = 4
const mostNamed = 20
const mostLines = 40
const mostCharacters = 400

interface ChangedFile {
  readonly isNew: boolean
  readonly content: string
  /** If omitted, the whole file was written. */
  readonly places?: readonly ReplacedLines[] | undefined
  /** The total number, if not all places are given. */
  readonly placeCount?: number | undefined
  /** Whether the model may see lines that it did not write. */
  readonly isShown: boolean
}

/**
 * The text for the model after a file change: the new lines with their numbers, so that it need not read the file
 * again.
 */
export function changedText(
  file: string,
  { isNew, content, places, placeCount = places?.length ?? 0, isShown }: ChangedFile,
): string {
  if (isNew) return modelText`Created ${file}, ${linesText(countLines(content))}.`
  if (places === undefined) return modelText`Replaced ${file}, which now has ${linesText(countLines(content))}.`
  const named = placeCount === 1 && (places[0]?.count ?? 0) <= 1 ? 'line' : 'lines'
  const where = `at ${named} ${places.slice(0, mostNamed).map(rangeText).join(', ')}${placeCount > mostNamed ? ' and more' : ''}`
  const head = modelText`Changed ${file}${placeCount === 1 ? '' : modelText` in ${placeCount} places,`} ${where}.`
  if (!isShown || placeCount > mostPlaces) return head
  const parts = excerpts(places, countLines(content))
  const texts = linesAt(content, parts)
  return [head, ...parts.map(({ from }, index) => excerptLines(texts[index] ?? [], from))].join('\n')
}

/** Numbered lines as `read` shows them, each cut to its beginning. */
export function excerptLines(lines: readonly string[], first: number): string {
  const short = (line: string): string => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line)
  return numberedLines(lines.map(short), first)
}

function rangeText({ line, count }: ReplacedLines): string {
  return count > 1 ? `${line}-${line + count - 1}` : `${line}`
}

interface Excerpt {
  readonly from: number
  readonly to: number
}

/** Adjacent and overlapping excerpts are merged. */
function excerpts(places: readonly ReplacedLines[], last: number): readonly Excerpt[] {
  const result: Excerpt[] = []
  for (const { line, count } of places) {
    const from = Math.max(1, line - around)
    const to = Math.min(last, line + Math.min(count, mostLines) - 1 + around)
    const before = result.at(-1)
    if (before !== undefined && from <= before.to + 1) result.splice(-1, 1, { from: before.from, to })
    else result.push({ from, to })
  }
  return result
}

/** The lines of excerpts in ascending order; only these lines are extracted, because the text may be large. */
function linesAt(text: string, parts: readonly Excerpt[]): readonly (readonly string[])[] {
  let line = 1
  let at = 0
  const pass = (to: number): number => {
    const start = at
    for (; line < to && at < text.length; line += 1) at = endOfLine(text, at)
    return start
  }
  return parts.map(({ from, to }) => {
    pass(from)
    const start = pass(to + 1)
    return text
      .slice(start, at)
      .replace(/\n$/, '')
      .split('\n')
      .map((one) => one.replace(/\r$/, ''))
  })
}

/** The index after its line feed. */
function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  return feed === -1 ? text.length : feed + 1
}

function countLines(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at = endOfLine(text, at)) count += 1
  return count
}
