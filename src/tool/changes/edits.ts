import { firstIndexOf, indicesOf } from '../../base/find-text.ts'
import { type Line, mainEnd } from './lines.ts'

/** Replaces what is from `start` up to but excluding `end`: characters of a text, or lines of a file. */
export interface Edit<Put> {
  readonly start: number
  readonly end: number
  readonly put: Put
}

/** A text with all edits applied to it at once. They are ascending and do not overlap. */
function editText(text: string, edits: readonly Edit<string>[]): string {
  const parts: string[] = []
  let position = 0
  for (const { start, end, put } of edits) {
    if (start < position || end < start) throw new Error('edits of a text overlap')
    parts.push(text.slice(position, start), put)
    position = end
  }
  return [...parts, text.slice(position)].join('')
}

/** The maximum number of arguments for one call. */
const mostArguments = 10_000

/** Applies an edit to lines, in place. Returns the removed ones. */
export function editLines(lines: Line[], { start, end, put }: Edit<readonly Line[]>): readonly Line[] {
  if (put.length <= mostArguments) return lines.splice(start, end - start, ...put)
  const removed = lines.slice(start, end)
  const behind = lines.slice(end)
  lines.length = start
  for (const line of put) lines.push(line)
  for (const line of behind) lines.push(line)
  return removed
}

/** A text that is replaced exactly, in characters. */
export interface Replacement {
  readonly search: string
  readonly replace: string
  /** Replace every occurrence; otherwise there must be exactly one. */
  readonly all: boolean
}

/** Lines of a text, from 1; `count` is 0 if text was only removed. */
export type ReplacedLines = { readonly line: number; readonly count: number }

type ReplacedText =
  /** `places` are those of the new text, in order: the first ones of `count`. */
  | {
      readonly kind: 'replaced'
      readonly content: string
      readonly places: readonly ReplacedLines[]
      readonly count: number
    }
  /** The text would not change. */
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  /** The lines on which it starts. */
  | { readonly kind: 'several'; readonly lines: readonly number[] }

/**
 * Replaces a text within another one, exactly except for line endings: `\n` and `\r\n` are equal in a search, a text
 * with `\r\n` keeps it, and the last line matches with a line break even if it has none. If a search for whole lines is
 * replaced with nothing, the last line break is removed too. Linear in the lengths.
 */
export function replaceText(text: string, { search, replace, all }: Replacement): ReplacedText {
  const flat = text.replaceAll('\r\n', '\n')
  const wanted = search.replaceAll('\r\n', '\n')
  const put = mainEnd(text) === '\r\n' ? replace.replaceAll(/\r?\n/g, '\r\n') : replace
  if (wanted === replace.replaceAll('\r\n', '\n')) return { kind: 'same' }
  const found = indicesOf(flat, wanted)
  if (found.length > 1 && !all) return { kind: 'several', lines: linesAt(flat, found) }
  const edits = found.length === 0 ? atOpenEnd(flat, wanted, put) : atEach(flat, found, { length: wanted.length, put })
  return edits.length === 0 ? { kind: 'missing' } : replaced(text, inText(text, edits))
}

/** Edits of places that do not overlap with an earlier one. */
function atEach(
  flat: string,
  starts: readonly number[],
  { length, put }: { readonly length: number; readonly put: string },
): readonly Edit<string>[] {
  const edits: Edit<string>[] = []
  let position = 0
  for (const start of starts) {
    if (start < position) continue
    position = start + length
    // the line break before it may have gone with the place before
    const from = Math.max(start, edits.at(-1)?.end ?? 0)
    edits.push({ start: from, end: put === '' ? withBreak(flat, start, position) : position, put })
  }
  return edits
}

/** A search that ends in a line break also matches a last line without one; then the new one has none either. */
function atOpenEnd(flat: string, wanted: string, put: string): readonly Edit<string>[] {
  const open = wanted.slice(0, -1)
  if (!wanted.endsWith('\n') || open === '' || !flat.endsWith(open)) return []
  return [{ start: flat.length - open.length, end: flat.length, put: put.replace(/\r?\n$/, '') }]
}

function withBreak(flat: string, start: number, end: number): number {
  const isWhole = (start === 0 || flat[start - 1] === '\n') && flat[end - 1] !== '\n' && flat[end] === '\n'
  return isWhole ? end + 1 : end
}

/** Maps edits of a text with `\n` to the same text with `\r\n`. */
function inText(text: string, edits: readonly Edit<string>[]): readonly Edit<string>[] {
  let pair = text.indexOf('\r\n')
  let pairs = 0
  const place = (index: number): number => {
    for (; pair !== -1 && pair - pairs < index; pair = text.indexOf('\r\n', pair + 2)) pairs += 1
    return index + pairs
  }
  return edits.map(({ start, end, put }) => ({ start: place(start), end: place(end), put }))
}

/** Maximum number of places returned: there may be very many, and nobody looks at all of them. */
const mostPlaces = 100

function replaced(text: string, edits: readonly Edit<string>[]): ReplacedText {
  const content = editText(text, edits)
  if (content === text) return { kind: 'same' }
  const starts = edits.slice(0, mostPlaces)
  const lines = linesAt(
    text,
    starts.map(({ start }) => start),
  )
  let moved = 0
  const places = starts.map(({ start, end, put }, index): ReplacedLines => {
    const line = (lines[index] ?? 1) + moved
    moved += breaksIn(put) - breaksIn(text.slice(start, end))
    return { line, count: put === '' ? 0 : breaksIn(put) + (put.endsWith('\n') ? 0 : 1) }
  })
  return { kind: 'replaced', content, places, count: edits.length }
}

/** The numbers of the lines that ascending indices are on. */
function linesAt(text: string, indices: readonly number[]): readonly number[] {
  let line = 1
  let position = 0
  return indices.map((index) => {
    line += breaksIn(text.slice(position, index))
    position = index
    return line
  })
}

/** The number of line breaks in a text. */
export function breaksIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** Replaces the first occurrence of a text, exactly; an empty one is at the start. Undefined if there is none. */
export function replaceFirst(text: string, { search, replace }: Omit<Replacement, 'all'>): string | undefined {
  const start = firstIndexOf(text, search)
  if (start === -1) return undefined
  const found = { start, end: start + search.length, put: replace }
  return editText(text, [search === '' || replace !== '' ? found : withLineBreak(text, found)])
}

/** Removed text that fills its lines is removed with its line break. */
function withLineBreak(text: string, edit: Edit<string>): Edit<string> {
  const { start, end } = edit
  if (start > 0 && text[start - 1] !== '\n') return edit
  const [lineBreak] = /^\r?\n/.exec(text.slice(end, end + 2)) ?? []
  if (lineBreak !== undefined) return { ...edit, end: end + lineBreak.length }
  if (end < text.length || start === 0) return edit
  return { ...edit, start: start - (text[start - 2] === '\r' ? 2 : 1) }
}
