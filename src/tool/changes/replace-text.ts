import { indicesOf } from '../../base/find-text.ts'
import { mainEnd } from './document.ts'

/** Lines of a text, from 1; `count` is 0 if text was only removed. */
export type ReplacedLines = { readonly line: number; readonly count: number }

interface Replacement {
  readonly search: string
  readonly replace: string
  /** Replace every occurrence; otherwise there must be exactly one. */
  readonly all: boolean
}

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

/** Maximum number of places returned: there may be very many, and nobody looks at all of them. */
const mostPlaces = 100

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
  const [first] = found
  if (first === undefined) return atOpenEnd(text, { flat, wanted, put })
  if (found.length > 1 && !all) return { kind: 'several', lines: linesAt(flat, found) }
  const ranges = apart(found, wanted.length).map((start) => ({
    start,
    end: put === '' ? withBreak(flat, start, start + wanted.length) : start + wanted.length,
  }))
  return replaced(text, { ranges: inText(text, ranges), put })
}

interface Range {
  readonly start: number
  readonly end: number
}

/** A search that ends in a line break also matches a last line without one; then the new one has none either. */
function atOpenEnd(
  text: string,
  { flat, wanted, put }: { readonly flat: string; readonly wanted: string; readonly put: string },
): ReplacedText {
  const open = wanted.slice(0, -1)
  if (!wanted.endsWith('\n') || open === '' || !flat.endsWith(open)) return { kind: 'missing' }
  const start = flat.length - open.length
  const ranges = inText(text, [{ start, end: flat.length }])
  return replaced(text, { ranges, put: put.replace(/\r?\n$/, '') })
}

/** The places that do not overlap with an earlier one. */
function apart(starts: readonly number[], length: number): readonly number[] {
  let end = 0
  return starts.filter((start) => {
    if (start < end) return false
    end = start + length
    return true
  })
}

function withBreak(flat: string, start: number, end: number): number {
  const isWhole = (start === 0 || flat[start - 1] === '\n') && flat[end - 1] !== '\n' && flat[end] === '\n'
  return isWhole ? end + 1 : end
}

/** Maps ranges in a text with `\n` to the same text with `\r\n`. */
function inText(text: string, ranges: readonly Range[]): readonly Range[] {
  let pair = text.indexOf('\r\n')
  let pairs = 0
  const place = (index: number): number => {
    for (; pair !== -1 && pair - pairs < index; pair = text.indexOf('\r\n', pair + 2)) pairs += 1
    return index + pairs
  }
  return ranges.map(({ start, end }) => ({ start: place(start), end: place(end) }))
}

function replaced(
  text: string,
  { ranges, put }: { readonly ranges: readonly Range[]; readonly put: string },
): ReplacedText {
  const parts: string[] = []
  const places: ReplacedLines[] = []
  const count = put === '' ? 0 : breaksIn(put) + (put.endsWith('\n') ? 0 : 1)
  let line = 1
  let position = 0
  for (const { start, end } of ranges) {
    const kept = text.slice(position, start)
    line += breaksIn(kept)
    if (places.length < mostPlaces) places.push({ line, count })
    line += breaksIn(put)
    parts.push(kept, put)
    position = end
  }
  const content = [...parts, text.slice(position)].join('')
  return content === text ? { kind: 'same' } : { kind: 'replaced', content, places, count: ranges.length }
}

function linesAt(text: string, starts: readonly number[]): readonly number[] {
  let line = 1
  let position = 0
  return starts.map((start) => {
    line += breaksIn(text.slice(position, start))
    position = start
    return line
  })
}

function breaksIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
