import { formOf } from './lines.ts'
import { hasText } from './syntax.ts'
import { oldParts, parseHunks } from './hunk.ts'
import { hasBlocks, searchedText } from './search-replace.ts'

/** The place in a file most similar to what a hunk looks for. A type, because only types are assignable to JSON. */
export type Nearest = {
  /** The number of the first line of `text` in the file, from 1. */
  readonly line: number
  /** The lines there, with some context. */
  readonly text: string
}

/** Lines of context shown before and after the place. */
const around = 4
/** Maximum number of lines in the excerpt of a long hunk. */
const mostLines = 60
/** Maximum number of lines of a long hunk that are looked for. */
const mostWanted = 1000
/** A line that occurs more often says nothing about the place. */
const mostPlaces = 100
/** Number of lines of a hunk whose words are looked for if the file contains none of its lines. */
const mostGuesses = 5
/** The share of a line's words that a matching line must contain. */
const leastShared = 0.5

/** The nearest place of each hunk or block, see `createNearest`. */
export function nearestPlaces(content: string, bodies: readonly string[]): readonly (Nearest | undefined)[] {
  return bodies.map(createNearest(content))
}

/**
 * Creates a function that finds the place in a text most similar to the old lines of a hunk, or to the text that a
 * block searches for. Lines are compared by letters, then by words; undefined if nothing is similar.
 */
function createNearest(content: string): (body: string) => Nearest | undefined {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''))
  const places = new Map<string, number[]>()
  for (const [index, line] of lines.entries()) {
    if (!hasText(line)) continue
    const form = formOf(line, 'letters')
    const known = places.get(form)
    if (known === undefined) places.set(form, [index])
    else known.push(index)
  }
  let words: readonly ReadonlySet<string>[] | undefined

  return (body) => {
    const wanted = wantedLines(body).slice(0, mostWanted)
    const start = startByLines(wanted, places) ?? startByWords(wanted, (words ??= lines.map(wordsOf)))
    if (start === undefined) return undefined
    const first = Math.min(Math.max(0, start - around), lines.length - 1)
    const end = Math.min(lines.length, start + wanted.length + around, first + mostLines)
    const text = lines.slice(first, Math.max(end, first + 1)).join('\n')
    return { line: first + 1, text: text.replace(/\n+$/, '') }
  }
}

/** The lines that, according to a hunk or a search and replace block, the file contains. */
function wantedLines(body: string): readonly string[] {
  if (hasBlocks(body)) return searchedText(body).split('\n')
  return parseHunks(body).flatMap((hunk) => oldParts(hunk).flatMap((part) => part.map(({ text }) => text)))
}

/** Each line of the hunk that the file contains votes for a start of the hunk; rare and long lines weigh more. */
function startByLines(wanted: readonly string[], places: ReadonlyMap<string, readonly number[]>): number | undefined {
  const votes = new Map<number, number>()
  for (const [offset, line] of wanted.entries()) {
    const form = formOf(line, 'letters')
    const found = hasText(line) ? (places.get(form) ?? []) : []
    if (found.length > mostPlaces) continue
    for (const index of found) {
      const start = index - offset
      votes.set(start, (votes.get(start) ?? 0) + form.length / found.length)
    }
  }
  return bestOf(votes)
}

function bestOf(votes: ReadonlyMap<number, number>): number | undefined {
  let best: number | undefined
  for (const [start, weight] of votes) {
    const most = best === undefined ? 0 : (votes.get(best) ?? 0)
    if (weight > most || (weight === most && start < (best ?? 0))) best = start
  }
  return best
}

function startByWords(wanted: readonly string[], known: readonly ReadonlySet<string>[]): number | undefined {
  const scores = new Map<number, number>()
  const longest = [...wanted.entries()].toSorted(([, left], [, right]) => right.length - left.length)
  for (const [offset, line] of longest.slice(0, mostGuesses)) {
    const words = wordsOf(line)
    for (const [index, others] of known.entries()) {
      const shared = [...words].filter((word) => others.has(word)).length / Math.max(words.size, others.size)
      if (shared >= leastShared) scores.set(index - offset, Math.max(shared, scores.get(index - offset) ?? 0))
    }
  }
  return bestOf(scores)
}

/** Longer lines are compared only by their start. */
const mostLetters = 500

function wordsOf(line: string): ReadonlySet<string> {
  return new Set(
    line
      .slice(0, mostLetters)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu),
  )
}
