import { formOf, indentOf, type Line } from './document.ts'
import type { Hint } from './hunk.ts'

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
export function choosePlace(
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
