import { editDistance } from '../../base/suggest.ts'
import { formOf } from './document.ts'
import type { OldLine } from './hunk.ts'

/**
 * The start indices of a list of lines in another one, ascending and including overlaps. Linear in both lengths, even
 * if all lines are alike (Knuth, Morris and Pratt).
 */
export function occurrences(needle: readonly string[], lines: readonly string[]): readonly number[] {
  if (needle.length === 0) return []
  const fallback = borders(needle)
  const found: number[] = []
  let matched = 0
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]
    while (matched > 0 && line !== needle[matched]) matched = fallback[matched - 1] ?? 0
    if (line === needle[matched]) matched += 1
    if (matched < needle.length) continue
    found.push(index - needle.length + 1)
    matched = fallback[matched - 1] ?? 0
  }
  return found
}

/** For each prefix, the length of its longest proper border. */
function borders(needle: readonly string[]): readonly number[] {
  const lengths = [0]
  let length = 0
  for (let index = 1; index < needle.length; index += 1) {
    while (length > 0 && needle[index] !== needle[length]) length = lengths[length - 1] ?? 0
    if (needle[index] === needle[length]) length += 1
    lengths.push(length)
  }
  return lengths
}

/** The average similarity from which lines of a hunk count as found; each removed line must come close to it, too. */
const wantedAverage = 0.85
const wantedRemoved = 0.75
const wantedContext = 0.6
/** Fewer letters than this are not enough for a match that is only similar. */
const leastLetters = 20
/** Longer lines are not compared letter by letter. */
const longestLine = 500
/** Longer parts are not compared for similarity: the cost per place is the length of the part. */
const mostLines = 300
/** A context line of at least this length that is a suffix of the file's line may have been truncated at its start. */
const leastSuffix = 10

/** Line indices: from `start`, up to but excluding `end`. `effort`: the remaining budget of letter pairs to compare. */
interface Range {
  readonly start: number
  readonly end: number
  readonly effort: { letters: number }
}

/**
 * The start indices in the range at which consecutive lines are similar to a part of a hunk. White space in the texts
 * is already normalized.
 */
export function similarStarts(part: readonly OldLine[], texts: readonly string[], range: Range): readonly number[] {
  const wanted = part.map(({ kind, text }) => ({ kind, text: formOf(text, 'whitespace').toLowerCase() }))
  const letters = wanted.reduce((sum, { text }) => sum + text.replaceAll(/[^\p{L}\p{N}]/gu, '').length, 0)
  if (letters < leastLetters || wanted.length > mostLines) return []
  const longest = wanted.reduce((most, { text }) => Math.max(most, text.length), 0)
  const anchor = wanted.findIndex(({ text }) => text.length === longest)
  const anchorLine = wanted[anchor]
  if (anchorLine === undefined) return []

  const words = longestWords(anchorLine.text)
  const lines = texts.slice(range.start, range.end + wanted.length - 1).map((text) => text.toLowerCase())
  const starts: number[] = []
  for (let start = 0; start + wanted.length <= lines.length; start += 1) {
    const line = lines[start + anchor] ?? ''
    if (!words.some((word) => line.includes(word)) || similarity(anchorLine, line, range) === 0) continue
    if (isSimilar(wanted, lines, { ...range, start })) starts.push(range.start + start)
  }
  return starts
}

type WantedLine = Pick<OldLine, 'kind' | 'text'>

function isSimilar(wanted: readonly WantedLine[], lines: readonly string[], { start, effort }: Range): boolean {
  let sum = 0
  let weight = 0
  for (const [offset, line] of wanted.entries()) {
    const score = similarity(line, lines[start + offset] ?? '', { effort })
    if (score === 0) return false
    sum += score * line.text.length
    weight += line.text.length
  }
  return weight > 0 && sum / weight >= wantedAverage
}

/** From 0 (not similar enough) to 1. A removed line is never similar to one with different numbers. */
function similarity({ kind, text: left }: WantedLine, right: string, { effort }: Pick<Range, 'effort'>): number {
  if (left === right) return 1
  if (kind === 'context' && left.length >= leastSuffix && right.endsWith(left)) return 0.95
  if (kind === 'remove' && numbersOf(left) !== numbersOf(right)) return 0
  const longest = Math.max(left.length, right.length)
  if (longest > longestLine || effort.letters < 0) return 0
  effort.letters -= left.length * right.length
  const limit = Math.floor(longest * (1 - (kind === 'remove' ? wantedRemoved : wantedContext)))
  const distance = editDistance(left, right, limit)
  return distance > limit ? 0 : 1 - distance / longest
}

function numbersOf(text: string): string {
  return (text.match(/\d+/g) ?? []).join(' ')
}

function longestWords(text: string): readonly string[] {
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? []
  return words.toSorted((a, b) => b.length - a.length).slice(0, 3)
}
