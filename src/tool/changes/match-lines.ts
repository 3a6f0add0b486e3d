import { type Form, formOf, indentOf, type Line, type LineIndex } from './lines.ts'
import { hasText } from './syntax.ts'
import { type Hint, type Hunk, type OldLine, oldParts } from './hunk.ts'
import { indicesOfList } from '../../base/find-text.ts'
import { editDistance } from '../../base/suggest.ts'

/** Where the lines of a hunk are in a file. */
export interface Placement {
  /** The tolerance needed: `exact` means none. */
  readonly tier: Pass['tier']
  /** Undefined for added lines, gaps, and blank lines that the file does not have. */
  readonly at: LineIndices
  /** Index of the first compared line. */
  readonly start: number
  /**
   * The start indices of all places where the hunk fits equally well, including its own; nothing indicates which was
   * meant.
   */
  readonly alike?: readonly number[]
}

export interface Misplacement {
  readonly tier: 'none'
  readonly cause: string
}

export interface PlaceOptions extends Pick<PlaceSearch, 'previousEnd' | 'index' | 'effort'> {
  readonly tolerance: Tolerance
}

/**
 * How far removed lines may differ from the file. `letters`: also in case and punctuation, or in a few letters.
 * `marks`: only in how white space, quotes, dashes and entities are written; added lines are converted accordingly.
 * `none`: not at all.
 */
export type Tolerance = 'letters' | 'marks' | 'none'

/**
 * Finds the place of a hunk in three tiers, each tried only if the one before finds nothing: exact lines; lines that
 * differ only in white space and blank lines; lines that differ only in case and punctuation, or are similar. In the
 * first two, `choosePlace` decides between several places. The third accepts a place only if it is the only one within
 * reach. Each tier searches the current file, then the file without the lines that earlier hunks added: hunks may be
 * written against the file as the model saw it.
 */
export function findPlace(hunk: Hunk, lines: readonly Line[], options: PlaceOptions): Placement | Misplacement {
  const hasAdded = options.previousEnd !== undefined
  for (const pass of options.tolerance === 'none' ? passes.slice(0, 1) : passes) {
    for (const without of hasAdded ? (['nothing', 'added'] as const) : (['nothing'] as const)) {
      const found = search(hunk, { ...options, lines, pass, without })
      if (found === undefined) continue
      if (found.tier === 'fuzzy' && options.tolerance === 'marks' && !differsInMarks(hunk, found, lines)) {
        return { tier: 'none', cause: 'the lines it removes are not in the file exactly, only similar ones' }
      }
      return found
    }
  }
  return { tier: 'none', cause: notInFile }
}

/** The cause if no place fits. */
export const notInFile = 'its context and removed lines are not in the file'

/** Whether all removed lines are in the file, except for how white space, quotes, dashes and entities are written. */
function differsInMarks(hunk: Hunk, { at }: Placement, lines: readonly Line[]): boolean {
  return hunk.lines.every((line, number) => {
    const found = lines[at[number] ?? -1]
    return line.kind !== 'remove' || !hasText(line.text) || found?.as('marks') === formOf(line.text, 'marks')
  })
}

const passes: readonly Pass[] = [
  { tier: 'exact', form: 'text', blanks: 'all', isSimilar: false },
  { tier: 'exact', form: 'text', blanks: 'inner', isSimilar: false },
  { tier: 'whitespace', form: 'whitespace', blanks: 'all', isSimilar: false },
  { tier: 'whitespace', form: 'whitespace', blanks: 'none', isSimilar: false },
  { tier: 'marks', form: 'marks', blanks: 'none', isSimilar: false },
  { tier: 'fuzzy', form: 'letters', blanks: 'none', isSimilar: false },
  { tier: 'fuzzy', form: 'whitespace', blanks: 'none', isSimilar: true },
]

function search(hunk: Hunk, options: PlaceSearch): Placement | Misplacement | undefined {
  const { pass, previousEnd } = options
  const parts = comparedParts(hunk, pass)
  if (parts.some((part) => part.length === 0)) return undefined
  // the previous pass was the same
  if (pass.blanks === 'inner' && parts.flat().length === oldParts(hunk).flat().length) return undefined
  const known = parts.length === 1 ? knownStart(parts[0] ?? [], options) : 'unknown'
  if (known === 'none') return undefined
  if (known !== 'unknown') {
    const at: (number | undefined)[] = hunk.lines.map(() => undefined)
    for (const [offset, { index }] of (parts[0] ?? []).entries()) at[index] = known[offset]
    return { tier: pass.tier, at: placeBlanks(at, hunk, options), start: known[0] ?? 0 }
  }
  const { effort } = options
  if (pass.isSimilar) {
    if (effort.similar < 0) return undefined
    effort.similar -= previousEnd === undefined ? options.lines.length : 2 * fuzzyReach
  } else {
    if (effort.scanned < 0) return { tier: 'none', cause: tooMuch }
    effort.scanned -= options.lines.length
  }
  const target = prepareLines(options)
  const starts = pass.isSimilar ? similarPlaces(parts, target, options) : startsOf(parts, target.texts, pass.form)
  const chosen =
    pass.tier === 'fuzzy' ? onlyOne(starts, target, previousEnd) : oneOf(starts, { ...options, hunk, parts, target })
  if (chosen === undefined) return undefined
  if (chosen === 'several') {
    return { tier: 'none', cause: 'its lines are not in the file exactly, and several places are similar' }
  }
  const at: (number | undefined)[] = hunk.lines.map(() => undefined)
  for (const [number, part] of parts.entries()) {
    for (const [offset, { index }] of part.entries()) at[index] = target.indices[(chosen.starts[number] ?? 0) + offset]
  }
  const alike = chosen.alike === undefined ? {} : { alike: chosen.alike }
  const start = target.indices[chosen.starts[0] ?? 0] ?? 0
  return { tier: pass.tier, at: placeBlanks(at, hunk, options), start, ...alike }
}

const tooMuch =
  'too many hunks of the patch must be searched for in the whole file: send fewer, or include in each a line that occurs only once in the file'

interface Chosen {
  readonly starts: Starts
  readonly alike?: readonly number[]
}

interface Choosing extends Pick<PlaceSearch, 'lines' | 'previousEnd'> {
  readonly hunk: Hunk
  readonly parts: readonly Part[]
  readonly target: PreparedLines
}

function oneOf(
  starts: readonly Starts[],
  { hunk, parts, target, lines, previousEnd = 0 }: Choosing,
): Chosen | undefined {
  const places = starts.map(([start = 0]) => target.indices[start] ?? 0)
  const first = parts[0]?.[0]?.index
  const ahead = oldParts(hunk)
    .flat()
    .findIndex(({ index }) => index === first)
  const choice = choosePlace(places, { hint: hunk.hint, ahead, lines, previousEnd })
  const chosen = choice === undefined ? undefined : starts[places.indexOf(choice.place)]
  if (chosen === undefined) return undefined
  return { starts: chosen, ...(choice?.isGuess === true ? { alike: places } : {}) }
}

function onlyOne(
  starts: readonly Starts[],
  { indices }: PreparedLines,
  previousEnd: number | undefined,
): Chosen | 'several' | undefined {
  const near = starts.filter(
    ([start = 0]) => previousEnd === undefined || Math.abs((indices[start] ?? 0) - previousEnd) <= fuzzyReach,
  )
  if (near.length > 1) return 'several'
  return near[0] === undefined ? undefined : { starts: near[0] }
}

interface ChooseOptions {
  readonly hint: Hint
  /** Number of lines of the file that the hunk names before the one at the places. */
  readonly ahead: number
  readonly lines: readonly Line[]
  /** Index after the last line of the previously applied hunk. */
  readonly previousEnd: number
}

/**
 * Chooses among places where a hunk fits equally well, given as ascending line indices. What follows the `@@` decides:
 * first the heading, then the line number; if the number matches none of the places, the nearest one is taken as a
 * guess. Without either, it is the first place after the previous hunk, or else the first one; without a previous hunk,
 * the first one that no hunk has added. Undefined if there are no places.
 */
function choosePlace(
  places: readonly number[],
  options: ChooseOptions,
): { readonly place: number; readonly isGuess: boolean } | undefined {
  const { hint, ahead, lines, previousEnd } = options
  if (places.length <= 1) return places[0] === undefined ? undefined : { place: places[0], isGuess: false }
  const candidates = hint.heading === undefined ? places : below(hint.heading, places, lines)
  const expected = hint.number === undefined ? undefined : hint.number + ahead
  const named = candidates.find((place) => expected !== undefined && lines[place]?.number === expected)
  if (named !== undefined) return { place: named, isGuess: false }

  const behind = candidates.filter((place) => place >= previousEnd)
  const following = behind.length > 0 ? behind : candidates
  const old = previousEnd === 0 ? following.filter((place) => lines[place]?.number !== undefined) : []
  const pool = old.length > 0 ? old : following
  const place = expected === undefined ? pool[0] : nearest(expected, pool, lines)
  return place === undefined ? undefined : { place, isGuess: pool.length > 1 }
}

/** A text that occurs in more lines is not used as a heading. */
const mostHeadings = 100

/**
 * The places in the section that a heading starts, or else the first place after it; all places if the file does not
 * contain the heading.
 */
function below(heading: string, places: readonly number[], lines: readonly Line[]): readonly number[] {
  const headings = headingLines(heading, lines)
  if (headings.length > mostHeadings) return places
  const inside = headings.flatMap((start) => {
    const end = endOf(start, lines)
    return places.filter((place) => place >= start && place < end)
  })
  const found = inside.length > 0 ? inside : headings.flatMap((start) => places.find((place) => place >= start) ?? [])
  return found.length > 0 ? [...new Set(found)].toSorted((one, other) => one - other) : places
}

/** Headings are often truncated. */
function headingLines(heading: string, lines: readonly Line[]): readonly number[] {
  const wanted = formOf(heading, 'whitespace')
  const indices = (fits: (text: string) => boolean): readonly number[] =>
    lines.flatMap((line, index) => (fits(line.as('whitespace')) ? [index] : []))
  const equal = indices((text) => text === wanted)
  return equal.length > 0 ? equal : indices((text) => text.startsWith(wanted))
}

/** The first line after a heading that is not indented more than it. */
function endOf(heading: number, lines: readonly Line[]): number {
  const indent = indentOf(lines[heading]?.text ?? '').length
  let end = heading + 1
  for (; end < lines.length; end += 1) {
    const line = lines[end]
    if (line !== undefined && line.as('whitespace') !== '' && indentOf(line.text).length <= indent) break
  }
  return end
}

function nearest(expected: number, places: readonly number[], lines: readonly Line[]): number | undefined {
  const distance = (place: number): number => Math.abs((lines[place]?.number ?? place + 1) - expected)
  let best = places[0]
  for (const place of places) if (best !== undefined && distance(place) < distance(best)) best = place
  return best
}

type Lines = Pick<PlaceSearch, 'lines' | 'without'>

/** For each line of a hunk, the index of the matching line of the file, if any. */
export type LineIndices = readonly (number | undefined)[]

/**
 * Matches blank context and removed lines, which were not compared, with the blank lines of the file at their place, if
 * any.
 */
function placeBlanks(at: LineIndices, hunk: Hunk, options: Lines): LineIndices {
  const isOpen = hunk.lines.map(
    (line, number) => (line.kind === 'context' || line.kind === 'remove') && at[number] === undefined,
  )
  if (!isOpen.includes(true)) return at
  const used = new Set(at)
  const placed = [...at]
  const first = at.findIndex((index) => index !== undefined)

  const fill = (from: number, step: 1 | -1): void => {
    let neighbour = at[first]
    for (let number = from; number >= 0 && number < placed.length; number += step) {
      if (isOpen[number] === true && neighbour !== undefined) {
        const next = blankBeside(neighbour, step, options)
        if (next !== undefined && !used.has(next)) {
          placed[number] = next
          used.add(next)
        }
      }
      neighbour = placed[number] ?? neighbour
    }
  }
  fill(first + 1, 1)
  fill(first - 1, -1)
  return placed
}

function blankBeside(index: number, step: 1 | -1, { lines, without }: Lines): number | undefined {
  let next = index + step
  while (without === 'added' && lines[next] !== undefined && lines[next]?.number === undefined) next += step
  const line = lines[next]
  return line !== undefined && !hasText(line.text) ? next : undefined
}

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
interface Pass {
  readonly tier: 'exact' | 'whitespace' | 'marks' | 'fuzzy'
  readonly form: Form
  /** Which blank lines are compared: `inner` skips blank context at both ends of the hunk. */
  readonly blanks: 'all' | 'inner' | 'none'
  readonly isSimilar: boolean
}

/** Where and how starts are searched. */
interface PlaceSearch {
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
const fuzzyReach = 1000

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
function knownStart(part: Part, { index, lines, pass, without }: PlaceSearch): readonly number[] | 'none' | 'unknown' {
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
interface PreparedLines {
  readonly texts: readonly string[]
  readonly indices: readonly number[]
}

/** Prepares the lines of a file for comparison. */
function prepareLines({ lines, without, pass: { form, blanks } }: PlaceSearch): PreparedLines {
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
type Part = readonly OldLine[]

/** The compared lines of a hunk, split at its gaps. */
function comparedParts(hunk: Hunk, { blanks }: Pass): readonly Part[] {
  const parts = oldParts(hunk)
  if (blanks === 'all') return parts
  if (blanks === 'none') return parts.map((part) => part.filter(({ text }) => hasText(text)))
  const counting = parts.flat().filter(({ kind, text }) => kind === 'remove' || hasText(text))
  const first = counting[0]?.index ?? 0
  const last = counting.at(-1)?.index ?? -1
  return parts.map((part) => part.filter(({ index }) => index >= first && index <= last))
}

/** Where each part of a hunk starts, as indices of the compared lines. */
type Starts = readonly number[]

/** Places whose lines are similar. Not available for hunks with gaps. */
function similarPlaces(
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
function startsOf(parts: readonly Part[], texts: readonly string[], form: Form): readonly Starts[] {
  const [first = [], ...others] = parts
  const placesOf = (part: Part): readonly number[] =>
    indicesOfList(
      texts,
      part.map(({ text }) => formOf(text, form)),
    )
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
