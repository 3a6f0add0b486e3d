import { formOf, type Form, type Line } from './document.ts'
import { occurrences, similarStarts } from './find-lines.ts'
import { hasText } from './fence.ts'
import { type Hunk, oldParts, type OldLine } from './hunk.ts'
import type { LineIndex } from './line-index.ts'

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
export interface Looking {
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
  { index, lines, pass, without }: Looking,
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

interface Walk extends Pick<Looking, 'lines' | 'pass' | 'without'> {
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
export interface Compared {
  readonly texts: readonly string[]
  readonly indices: readonly number[]
}

/** Prepares the lines of a file for comparison. */
export function compared({ lines, without, pass: { form, blanks } }: Looking): Compared {
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
export function similar(
  [part = [], ...others]: readonly Part[],
  { texts, indices }: Compared,
  { previousEnd, effort }: Pick<Looking, 'previousEnd' | 'effort'>,
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
