import { formOf, type Form, type Line } from './document.ts'
import { occurrences, similarStarts } from './find-lines.ts'
import { hasText } from './fence.ts'
import { type Hunk, oldParts, type OldLine } from './hunk.ts'
import type { LineIndex } from './line-index.ts'

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

/** One way to compare the lines of a hunk with those of a file. */
export interface Pass {
  readonly tier: 'exact' | 'whitespace' | 'marks' | 'fuzzy'
  readonly form: Form
  /** Which blank lines are compared: `inner` leaves out blank context at both ends of the hunk. */
  readonly blanks: 'all' | 'inner' | 'none'
  readonly isSimilar: boolean
}

/** Where starts are looked for, and how. */
export interface Looking {
  readonly pass: Pass
  readonly lines: readonly Line[]
  /** `added`: as if earlier hunks had added nothing. */
  readonly without: 'nothing' | 'added'
  /** Index behind the last line of the previous hunk that was applied; undefined for the first. */
  readonly previousEnd: number | undefined
  /** What is known of where lines stand; undefined when there are too few hunks for that to pay. */
  readonly index: LineIndex | undefined
  readonly effort: Effort
}

/** Lines further away from the previous hunk are not compared loosely. */
export const fuzzyReach = 1000

/** False for a line that an earlier hunk has put there. */
function isOld({ number }: Line): boolean {
  return number !== undefined
}

/** Anchors that are tried; a hunk of which no line stands alone is looked for in the whole file. */
const mostAnchors = 20

/**
 * Where the lines of a part stand, when one of them stands in the file only once: then there is no other place. `none`
 * when there is none at all, `unknown` when the whole file has to be looked through.
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
export interface Compared {
  readonly texts: readonly string[]
  readonly indices: readonly number[]
}

/** The lines of a file as they are compared. */
export function compared({ lines, without, pass: { form, blanks } }: Looking): Compared {
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

/** Lines of a hunk that follow each other in the file. */
export type Part = readonly OldLine[]

/** The lines of a hunk that are compared, in the parts between its gaps. */
export function comparedParts(hunk: Hunk, { blanks }: Pass): readonly Part[] {
  const parts = oldParts(hunk)
  if (blanks === 'all') return parts
  if (blanks === 'none') return parts.map((part) => part.filter(({ text }) => hasText(text)))
  const counting = parts.flat().filter(({ kind, text }) => kind === 'remove' || hasText(text))
  const first = counting[0]?.index ?? 0
  const last = counting.at(-1)?.index ?? -1
  return parts.map((part) => part.filter(({ index }) => index >= first && index <= last))
}

/** Where each part of a hunk begins, as indices of the compared lines. */
export type Starts = readonly number[]

/** Places whose lines are similar. Parts around a gap are not looked for in this way. */
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

/** All places where the parts stand one behind the other. */
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
