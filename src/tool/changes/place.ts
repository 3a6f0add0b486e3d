import { formOf, indentOf, type Line } from './document.ts'
import { hasText } from './fence.ts'
import { type Hint, type Hunk, oldParts } from './hunk.ts'
import {
  type PreparedLines,
  prepareLines,
  comparedParts,
  fuzzyReach,
  knownStart,
  type PlaceSearch,
  type Part,
  type Pass,
  similarPlaces,
  type Starts,
  startsOf,
} from './find-lines.ts'

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
