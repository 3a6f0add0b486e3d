import { type LineIndices, placeBlanks } from './blanks.ts'
import { choosePlace } from './choose.ts'
import type { Line } from './document.ts'
import { type Form, formOf } from './form.ts'
import { type Hunk, isBlank, oldParts, type OldLine } from './hunk.ts'
import { occurrences } from './occurrences.ts'
import { similarStarts } from './similar.ts'
import { type Compared, compared, countBefore, fileIndex, oldView, type View, wholeView } from './view.ts'

/** Where the lines of a hunk stand in a file. */
export interface Placement {
  /** How far the lines may differ: `exact` means not at all. */
  readonly tier: 'exact' | 'whitespace' | 'fuzzy'
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
}

/** Lines further away from the previous hunk are not compared loosely. */
const fuzzyReach = 1000

/**
 * Finds the place of a hunk in three tiers, each tried only when the one before finds nothing (P-D8): exact lines; lines
 * alike but for white space and blank lines; lines alike but for case and punctuation, or similar. In the first two,
 * `choosePlace` says which of several it is. The third takes a place only when it is the one
 * there is within reach. Each looks at the file as it is now, then without the lines that earlier hunks added: hunks
 * may be written against the file as the model saw it.
 */
export function findPlace(hunk: Hunk, lines: readonly Line[], options: PlaceOptions): Placement | Misplacement {
  const whole = wholeView(lines)
  const searching = { ...options, lines }
  let old: View | undefined | 'not made' = 'not made'
  for (const pass of passes) {
    const found = search(hunk, whole, { ...searching, pass })
    if (found !== undefined) return found
    if (old === 'not made') old = oldView(lines)
    const foundInOld = old === undefined ? undefined : search(hunk, old, { ...searching, pass })
    if (foundInOld !== undefined) return foundInOld
  }
  return { tier: 'none', cause: 'its context and removed lines are not in the file' }
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
  { tier: 'fuzzy', form: 'letters', blanks: 'none', isSimilar: false },
  { tier: 'fuzzy', form: 'whitespace', blanks: 'none', isSimilar: true },
]

interface SearchOptions extends PlaceOptions {
  readonly pass: Pass
  /** Of the whole file. */
  readonly lines: readonly Line[]
}

function search(hunk: Hunk, view: View, options: SearchOptions): Placement | Misplacement | undefined {
  const { pass, previousEnd } = options
  const parts = comparedParts(hunk, pass)
  if (parts.some((part) => part.length === 0)) return undefined
  // the pass before has looked for the same
  if (pass.blanks === 'inner' && parts.flat().length === oldParts(hunk).flat().length) return undefined
  const target = compared(view, { form: pass.form, withBlanks: pass.blanks !== 'none' })
  const starts = pass.isSimilar ? similar(parts, target, previousEnd) : startsOf(parts, target.texts, pass.form)
  const chosen =
    pass.tier === 'fuzzy' ? onlyOne(starts, target, previousEnd) : oneOf(starts, { ...options, hunk, parts, target })
  if (chosen === undefined) return undefined
  if (chosen === 'several') {
    return { tier: 'none', cause: 'its lines are not in the file as they stand, and several places are like them' }
  }
  const at: (number | undefined)[] = hunk.lines.map(() => undefined)
  for (const [number, part] of parts.entries()) {
    for (const [offset, { index }] of part.entries())
      at[index] = fileIndex(target, (chosen.starts[number] ?? 0) + offset)
  }
  const alike = chosen.alike === undefined ? {} : { alike: chosen.alike }
  const start = fileIndex(target, chosen.starts[0] ?? 0)
  return { tier: pass.tier, at: placeBlanks(at, hunk, view), start, ...alike }
}

type Part = readonly OldLine[]

function comparedParts(hunk: Hunk, { blanks }: Pass): readonly Part[] {
  const parts = oldParts(hunk)
  if (blanks === 'all') return parts
  if (blanks === 'none') return parts.map((part) => part.filter(({ text }) => !isBlank(text)))
  const counting = parts.flat().filter(({ kind, text }) => kind === 'remove' || !isBlank(text))
  const first = counting[0]?.index ?? 0
  const last = counting.at(-1)?.index ?? -1
  return parts.map((part) => part.filter(({ index }) => index >= first && index <= last))
}

/** Where each part of a hunk begins. */
type Starts = readonly number[]

/** Parts around a gap are not looked for in this way. */
function similar(
  [part = [], ...others]: readonly Part[],
  view: Compared,
  previousEnd: number | undefined,
): readonly Starts[] {
  if (others.length > 0) return []
  const range =
    previousEnd === undefined
      ? { start: 0, end: view.texts.length }
      : {
          start: countBefore(view, previousEnd - fuzzyReach),
          end: countBefore(view, previousEnd + fuzzyReach + 1),
        }
  return similarStarts(part, view.texts, range).map((start) => [start])
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
  const places = starts.map(([start = 0]) => fileIndex(target, start))
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
  view: Compared,
  previousEnd: number | undefined,
): Chosen | 'several' | undefined {
  const near = starts.filter(
    ([start = 0]) => previousEnd === undefined || Math.abs(fileIndex(view, start) - previousEnd) <= fuzzyReach,
  )
  if (near.length > 1) return 'several'
  return near[0] === undefined ? undefined : { starts: near[0] }
}
