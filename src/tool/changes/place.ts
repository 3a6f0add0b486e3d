import { choosePlace } from './choose.ts'
import { type Form, formOf, type Line } from './document.ts'
import { occurrences, similarStarts } from './find-lines.ts'
import { hasText } from './fence.ts'
import type { LineIndex } from './line-index.ts'
import { type Hunk, oldParts, type OldLine } from './hunk.ts'

/** Where the lines of a hunk stand in a file. */
export interface Placement {
  /** How far the lines may differ: `exact` means not at all. */
  readonly tier: 'exact' | 'whitespace' | 'marks' | 'fuzzy'
  /** Undefined for added lines, gaps, and blank lines that the file does not have. */
  readonly at: LineIndices
  /** Index of the first line that was compared. */
  readonly start: number
  /** Such indices where the hunk fits as well, its own among them; nothing said which was meant. */
  readonly alike?: readonly number[]
}

export interface Misplacement {
  readonly tier: 'none'
  readonly cause: string
}

export interface PlaceOptions {
  /** Index behind the last line of the previous hunk that was applied; undefined for the first. */
  readonly previousEnd: number | undefined
  /** What is known of where lines stand; undefined when there are too few hunks for that to pay. */
  readonly index: LineIndex | undefined
  readonly effort: Effort
  readonly tolerance: Tolerance
}

/** What finding places may still cost. Shared by the hunks of a patch, so that many that fit nowhere do not take forever. */
export interface Effort {
  /** Lines that may be looked at by hunks of which no line stands in the file only once. */
  scanned: number
  /** Lines that may be looked at for similar ones, and pairs of letters of them that may be compared. */
  similar: number
  letters: number
}

/** What all hunks of a patch may cost together. */
export function fullEffort(): Effort {
  return { scanned: 5_000_000, similar: 60_000, letters: 100_000_000 }
}

/**
 * How far removed lines may differ from the file. `letters`: also in case and punctuation, or in a few letters. `marks`: only
 * in how white space, quotes, dashes and entities are written, which added lines are translated by. `none`: not at all.
 */
export type Tolerance = 'letters' | 'marks' | 'none'

/** Lines further away from the previous hunk are not compared loosely. */
const fuzzyReach = 1000

/**
 * Finds the place of a hunk in three tiers, each tried only when the one before finds nothing: exact lines; lines alike but
 * for white space and blank lines; lines alike but for case and punctuation, or similar. In the first two, `choosePlace`
 * says which of several it is. The third takes a place only when it is the one there is within reach. Each looks at the
 * file as it is now, then without the lines that earlier hunks added: hunks may be written against the file as the model
 * saw it.
 */
export function findPlace(hunk: Hunk, lines: readonly Line[], options: PlaceOptions): Placement | Misplacement {
  const hasAdded = options.previousEnd !== undefined
  for (const pass of options.tolerance === 'none' ? passes.slice(0, 1) : passes) {
    for (const without of hasAdded ? (['nothing', 'added'] as const) : (['nothing'] as const)) {
      const found = search(hunk, { ...options, lines, pass, without })
      if (found === undefined) continue
      if (found.tier === 'fuzzy' && options.tolerance === 'marks' && !differsInMarks(hunk, found, lines)) {
        return { tier: 'none', cause: 'the lines it removes are not in the file as they stand, only lines like them' }
      }
      return found
    }
  }
  return { tier: 'none', cause: 'its context and removed lines are not in the file' }
}

/** Whether all removed lines are in the file but for how white space, quotes, dashes and entities are written. */
function differsInMarks(hunk: Hunk, { at }: Placement, lines: readonly Line[]): boolean {
  return hunk.lines.every((line, number) => {
    const found = lines[at[number] ?? -1]
    return line.kind !== 'remove' || !hasText(line.text) || found?.as('marks') === formOf(line.text, 'marks')
  })
}

/** False for a line that an earlier hunk has put there. */
function isOld({ number }: Line): boolean {
  return number !== undefined
}

interface Pass {
  readonly tier: Placement['tier']
  readonly form: Form
  /** Which blank lines are compared: `inner` leaves out blank context at both ends of the hunk. */
  readonly blanks: 'all' | 'inner' | 'none'
  readonly isSimilar: boolean
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

interface SearchOptions extends PlaceOptions {
  readonly pass: Pass
  readonly lines: readonly Line[]
  readonly without: 'nothing' | 'added'
}

function search(hunk: Hunk, options: SearchOptions): Placement | Misplacement | undefined {
  const { pass, previousEnd } = options
  const parts = comparedParts(hunk, pass)
  if (parts.some((part) => part.length === 0)) return undefined
  // the pass before has looked for the same
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
  const target = compared(options)
  const starts = pass.isSimilar ? similar(parts, target, options) : startsOf(parts, target.texts, pass.form)
  const chosen =
    pass.tier === 'fuzzy' ? onlyOne(starts, target, previousEnd) : oneOf(starts, { ...options, hunk, parts, target })
  if (chosen === undefined) return undefined
  if (chosen === 'several') {
    return { tier: 'none', cause: 'its lines are not in the file as they stand, and several places are like them' }
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
  'too many hunks of the patch have to be looked for in the whole file: send fewer of them, or let each name a line that the file holds only once'

/** Anchors that are tried; a hunk of which no line stands alone is looked for in the whole file. */
const mostAnchors = 20

/**
 * Where the lines of a part stand, when one of them stands in the file only once: then there is no other place. `none`
 * when there is none at all, `unknown` when the whole file has to be looked through.
 */
function knownStart(
  part: Part,
  { index, lines, pass, without }: SearchOptions,
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

interface Walk extends Pick<SearchOptions, 'lines' | 'pass' | 'without'> {
  readonly step: 1 | -1
}

/** The indices of lines that follow each other from an index on (exclusive); undefined when one is another. */
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

/** Lines of a file as a hunk is compared with them: their texts in one form, and their indices in the file. */
interface Compared {
  readonly texts: readonly string[]
  readonly indices: readonly number[]
}

function compared({ lines, without, pass: { form, blanks } }: SearchOptions): Compared {
  const texts: string[] = []
  const indices: number[] = []
  for (const [index, line] of lines.entries()) {
    if (without === 'added' && !isOld(line)) continue
    // a text of white space alone is empty in this form
    if (blanks === 'none' && line.as('whitespace') === '') continue
    texts.push(line.as(form))
    indices.push(index)
  }
  return { texts, indices }
}

type Part = readonly OldLine[]

function comparedParts(hunk: Hunk, { blanks }: Pass): readonly Part[] {
  const parts = oldParts(hunk)
  if (blanks === 'all') return parts
  if (blanks === 'none') return parts.map((part) => part.filter(({ text }) => hasText(text)))
  const counting = parts.flat().filter(({ kind, text }) => kind === 'remove' || hasText(text))
  const first = counting[0]?.index ?? 0
  const last = counting.at(-1)?.index ?? -1
  return parts.map((part) => part.filter(({ index }) => index >= first && index <= last))
}

type Starts = readonly number[]

/** Parts around a gap are not looked for in this way. */
function similar(
  [part = [], ...others]: readonly Part[],
  { texts, indices }: Compared,
  { previousEnd, effort }: Pick<SearchOptions, 'previousEnd' | 'effort'>,
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

function startsOf(parts: readonly Part[], texts: readonly string[], form: Form): readonly Starts[] {
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

/** Adds to each start the first place of the next part behind it. All lists ascend. */
function withNext(found: readonly Starts[], places: readonly number[], length: number): readonly Starts[] {
  let next = 0
  return found.flatMap((starts) => {
    const end = (starts.at(-1) ?? 0) + length
    while (next < places.length && (places[next] ?? 0) < end) next += 1
    const place = places[next]
    return place === undefined ? [] : [[...starts, place]]
  })
}

interface Chosen {
  readonly starts: Starts
  readonly alike?: readonly number[]
}

interface Choosing extends Pick<SearchOptions, 'lines' | 'previousEnd'> {
  readonly hunk: Hunk
  readonly parts: readonly Part[]
  readonly target: Compared
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
  { indices }: Compared,
  previousEnd: number | undefined,
): Chosen | 'several' | undefined {
  const near = starts.filter(
    ([start = 0]) => previousEnd === undefined || Math.abs((indices[start] ?? 0) - previousEnd) <= fuzzyReach,
  )
  if (near.length > 1) return 'several'
  return near[0] === undefined ? undefined : { starts: near[0] }
}

/** For each line of a hunk the index of the file's line, where it has one. */
export type LineIndices = readonly (number | undefined)[]

/**
 * Gives blank context and removed lines that were not compared the blank lines of the file that stand in their place,
 * where there are any.
 */
function placeBlanks(at: LineIndices, hunk: Hunk, options: SearchOptions): LineIndices {
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

function blankBeside(index: number, step: 1 | -1, { lines, without }: SearchOptions): number | undefined {
  let next = index + step
  while (without === 'added' && lines[next] !== undefined && lines[next]?.number === undefined) next += step
  const line = lines[next]
  return line !== undefined && !hasText(line.text) ? next : undefined
}
