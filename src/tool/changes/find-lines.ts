import { type Form, formOf, type Line, type LineIndex } from './document.ts'
import { hasText } from './fence.ts'
import { type Hunk, type OldLine, oldParts } from './hunk.ts'
import { editDistance } from '../../base/suggest.ts'

/**
 * The remaining budget for finding places. Shared by the hunks of a patch, so that many unplaceable ones do not take
 * forever.
 */
export interface Effort {
  /** Lines that may be scanned for hunks without a line that is unique in the file. */
  scanned: number
  /** Lines that may be searched for similar ones, and pairs of their letters that may be compared. */
  similar: number
  letters: number
}

/** The total budget for all hunks of a patch. */
export function fullEffort(): Effort {
  return { scanned: 5_000_000, similar: 60_000, letters: 100_000_000 }
}

/** One way to compare the lines of a hunk with those of a file. */
export interface Pass {
  readonly tier: 'exact' | 'whitespace' | 'marks' | 'fuzzy'
  readonly form: Form
  /** Which blank lines are compared: `inner` skips blank context at both ends of the hunk. */
  readonly blanks: 'all' | 'inner' | 'none'
  readonly isSimilar: boolean
}

/** Where and how starts are searched. */
export interface PlaceSearch {
  readonly pass: Pass
  readonly lines: readonly Line[]
  /** `added`: as if earlier hunks had added nothing. */
  readonly without: 'nothing' | 'added'
  /** Index after the last line of the previously applied hunk; undefined for the first. */
  readonly previousEnd: number | undefined
  /** An index of the lines; undefined if there are too few hunks for it to pay off. */
  readonly index: LineIndex | undefined
  readonly effort: Effort
}

/** Lines further away from the previous hunk are not matched by similarity. */
export const fuzzyReach = 1000

/** False for a line added by an earlier hunk. */
function isOld({ number }: Line): boolean {
  return number !== undefined
}

/** Maximum number of anchors to try; a hunk without a unique line is searched for in the whole file. */
const mostAnchors = 20

/**
 * The indices of the lines of a part, if one of them is unique in the file, so that there can be no other place. `none`
 * if there is no match, `unknown` if the whole file has to be scanned.
 */
export function knownStart(
  part: Part,
  { index, lines, pass, without }: PlaceSearch,
): readonly number[] | 'none' | 'unknown' {
  if (index === undefined || pass.isSimilar) return 'unknown'
  for (const [offset, { text }] of part.slice(0, mostAnchors).entries()) {
    const found = index.find(text, pass.form)
    if (found === 'none') return 'none'
    if (found === 'several') continue
    const before = walk(part.slice(0, offset).toReversed(), found, { lines, pass, without, step: -1 })
    const behind = walk(part.slice(offset), found - 1, { lines, pass, without, step: 1 })
    return before === undefined || behind === undefined ? 'none' : [...before.toReversed(), ...behind]
  }
  return 'unknown'
}

interface Walk extends Pick<PlaceSearch, 'lines' | 'pass' | 'without'> {
  readonly step: 1 | -1
}

/** The indices of consecutive lines from an index on (exclusive); undefined if one does not match. */
function walk(part: Part, from: number, { lines, pass, without, step }: Walk): readonly number[] | undefined {
  const found: number[] = []
  let at = from
  for (const { text } of part) {
    at += step
    for (; at >= 0; at += step) {
      const line = lines[at]
      const isPassed =
        line !== undefined && ((without === 'added' && !isOld(line)) || (pass.blanks === 'none' && !hasText(line.text)))
      if (!isPassed) break
    }
    if (lines[at]?.as(pass.form) !== formOf(text, pass.form)) return undefined
    found.push(at)
  }
  return found
}

/** Lines of a file prepared for comparison with a hunk: their normalized texts, and their indices in the file. */
export interface PreparedLines {
  readonly texts: readonly string[]
  readonly indices: readonly number[]
}

/** Prepares the lines of a file for comparison. */
export function prepareLines({ lines, without, pass: { form, blanks } }: PlaceSearch): PreparedLines {
  const texts: string[] = []
  const indices: number[] = []
  for (const [index, line] of lines.entries()) {
    if (without === 'added' && !isOld(line)) continue
    // a text of only white space is empty in this form
    if (blanks === 'none' && line.as('whitespace') === '') continue
    texts.push(line.as(form))
    indices.push(index)
  }
  return { texts, indices }
}

/** Lines of a hunk that are consecutive in the file. */
export type Part = readonly OldLine[]

/** The compared lines of a hunk, split at its gaps. */
export function comparedParts(hunk: Hunk, { blanks }: Pass): readonly Part[] {
  const parts = oldParts(hunk)
  if (blanks === 'all') return parts
  if (blanks === 'none') return parts.map((part) => part.filter(({ text }) => hasText(text)))
  const counting = parts.flat().filter(({ kind, text }) => kind === 'remove' || hasText(text))
  const first = counting[0]?.index ?? 0
  const last = counting.at(-1)?.index ?? -1
  return parts.map((part) => part.filter(({ index }) => index >= first && index <= last))
}

/** Where each part of a hunk starts, as indices of the compared lines. */
export type Starts = readonly number[]

/** Places whose lines are similar. Not available for hunks with gaps. */
export function similarPlaces(
  [part = [], ...others]: readonly Part[],
  { texts, indices }: PreparedLines,
  { previousEnd, effort }: Pick<PlaceSearch, 'previousEnd' | 'effort'>,
): readonly Starts[] {
  if (others.length > 0) return []
  const countBefore = (index: number): number => {
    const found = indices.findIndex((known) => known >= index)
    return found === -1 ? indices.length : found
  }
  const start = previousEnd === undefined ? 0 : countBefore(previousEnd - fuzzyReach)
  const end = previousEnd === undefined ? texts.length : countBefore(previousEnd + fuzzyReach + 1)
  return similarStarts(part, texts, { start, end, effort }).map((found) => [found])
}

/** All places where the parts occur in sequence. */
export function startsOf(parts: readonly Part[], texts: readonly string[], form: Form): readonly Starts[] {
  const [first = [], ...others] = parts
  const placesOf = (part: Part): readonly number[] => {
    const needle = part.map(({ text }) => formOf(text, form))
    return occurrences(needle, texts)
  }
  return others.reduce<readonly (readonly number[])[]>(
    (found, part, number) => withNext(found, placesOf(part), parts[number]?.length ?? 0),
    placesOf(first).map((start) => [start]),
  )
}

/** Adds to each start the first place of the next part after it. All lists are ascending. */
function withNext(found: readonly Starts[], places: readonly number[], length: number): readonly Starts[] {
  let next = 0
  return found.flatMap((starts) => {
    const end = (starts.at(-1) ?? 0) + length
    while (next < places.length && (places[next] ?? 0) < end) next += 1
    const place = places[next]
    return place === undefined ? [] : [[...starts, place]]
  })
}

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
function similarStarts(part: readonly OldLine[], texts: readonly string[], range: Range): readonly number[] {
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
