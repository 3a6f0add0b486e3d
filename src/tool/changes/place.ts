import { choosePlace } from './choose.ts'
import { formOf, type Line } from './document.ts'
import { hasText } from './fence.ts'
import { type Hunk, oldParts } from './hunk.ts'
import { type LineIndices, placeBlanks } from './place-blanks.ts'
import {
  type Compared,
  compared,
  comparedParts,
  fuzzyReach,
  knownStart,
  type Looking,
  type Part,
  type Pass,
  similar,
  type Starts,
  startsOf,
} from './place-starts.ts'

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

export interface PlaceOptions extends Pick<Looking, 'previousEnd' | 'index' | 'effort'> {
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

function search(hunk: Hunk, options: Looking): Placement | Misplacement | undefined {
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
  const target = compared(options)
  const starts = pass.isSimilar ? similar(parts, target, options) : startsOf(parts, target.texts, pass.form)
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

interface Choosing extends Pick<Looking, 'lines' | 'previousEnd'> {
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
