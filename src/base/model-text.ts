import { isJsonObject, type Json } from './json.ts'

/** The texts that were marked so far, each as its pieces between the values: constants of the code. */
const marked = new Map<string, readonly string[]>()
const seen = new WeakSet<TemplateStringsArray>()

/**
 * Marks a text of this program that models get: descriptions of tools, system texts, frames, notes, feedback. The values
 * in it, which authors, users, models and files provide, are not marked. What is marked may be worded differently in
 * the version that recorded a run: see `differsOnlyInOwnTexts`.
 */
export function modelText(strings: TemplateStringsArray, ...values: readonly (string | number | undefined)[]): string {
  if (!seen.has(strings)) {
    seen.add(strings)
    marked.set(strings.join('\u0000'), strings)
  }
  return strings.reduce((text, piece, index) => `${text}${values[index - 1]}${piece}`)
}

/**
 * Whether a value is the recorded one, except for texts that are marked in the current one: wherever one of them
 * stands, the recorded one may have any text.
 */
export function differsOnlyInOwnTexts(now: Json | undefined, then: Json | undefined): boolean {
  if (typeof now === 'string' && typeof then === 'string') {
    return now === then || matches(partsOf(now.replaceAll(unseen, '')), then.replaceAll(unseen, ''))
  }
  if (Array.isArray(now) && Array.isArray(then)) {
    const [left, right] = [now as readonly Json[], then as readonly Json[]]
    return left.length === right.length && left.every((item, index) => differsOnlyInOwnTexts(item, right[index]))
  }
  if (isJsonObject(now) && isJsonObject(then)) {
    const keys = new Set([...Object.keys(now), ...Object.keys(then)])
    return [...keys].every((key) => differsOnlyInOwnTexts(now[key], then[key]))
  }
  return now === then
}

/** Whether a text has a marked one in it. */
export function hasOwnText(text: string): boolean {
  return partsOf(text).some(({ isOwn }) => isOwn)
}

/** Keeps the end of a comment from ending it, wherever texts stand in one. */
const unseen = '\u200B'

interface TextPart {
  readonly text: string
  readonly isOwn: boolean
}

/** The text in pieces: marked ones, and what is between them. */
function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const [from, to] of ownRanges(text)) {
    if (to <= end) continue
    if (from > end) parts.push({ text: text.slice(end, from), isOwn: false })
    parts.push({ text: text.slice(Math.max(from, end), to), isOwn: true })
    end = to
  }
  if (end < text.length) parts.push({ text: text.slice(end), isOwn: false })
  return parts
}

/** Where the pieces of marked texts are that occur as a whole, in order. */
function ownRanges(text: string): readonly Range[] {
  const ranges: Range[] = []
  for (const strings of marked.values()) {
    if (!isTelling(strings)) continue
    const whole = strings.filter((piece) => piece !== '')
    const found = occurrences(text, whole)
    // as lines of a comment, or without the space around it
    const lines = whole.flatMap((piece) => piece.split('\n').map((line) => line.trim())).filter((line) => line !== '')
    ranges.push(...(found.length > 0 ? found : occurrences(text, lines)))
  }
  return ranges.toSorted(([one, oneEnd], [other, otherEnd]) => one - other || otherEnd - oneEnd)
}

/** A word alone may be anyone's. */
function isTelling(strings: readonly string[]): boolean {
  const text = strings.join(' ')
  return /\p{L}/u.test(text) && (/\p{L}+\P{L}+\p{L}+/u.test(text) || /[^\p{L}\s]/u.test(text))
}

type Range = readonly [from: number, to: number]

function occurrences(text: string, pieces: readonly string[]): readonly Range[] {
  const ranges: Range[] = []
  const [head = ''] = pieces
  for (let at = text.indexOf(head); at !== -1; at = text.indexOf(head, at + head.length)) {
    const found = occurrence(text, pieces, at)
    if (found === undefined) break
    ranges.push(...found)
  }
  return ranges
}

function occurrence(text: string, pieces: readonly string[], start: number): readonly Range[] | undefined {
  const ranges: Range[] = []
  let end = start
  for (const piece of pieces) {
    const at = text.indexOf(piece, end)
    if (at === -1) return undefined
    end = at + piece.length
    ranges.push([at, end])
  }
  return ranges
}

/** Where the text after the parts seen so far can begin: at these positions, or anywhere from the first on. */
type Positions =
  | { readonly kind: 'at'; readonly all: readonly number[] }
  | { readonly kind: 'from'; readonly first: number }

/** Whether a text consists of these parts, with anything in place of a marked one that is not there as it is. */
function matches(parts: readonly TextPart[], text: string): boolean {
  let positions: Positions = { kind: 'at', all: [0] }
  for (const part of parts) {
    const next = after(part, text, positions)
    if (next === undefined) return false
    positions = next
  }
  return positions.kind === 'from' || positions.all.includes(text.length)
}

function after({ text: piece, isOwn }: TextPart, text: string, positions: Positions): Positions | undefined {
  if (positions.kind === 'from') {
    if (isOwn) return positions
    const all: number[] = []
    for (let at = text.indexOf(piece, positions.first); at !== -1; at = text.indexOf(piece, at + 1)) {
      all.push(at + piece.length)
    }
    return all.length === 0 ? undefined : { kind: 'at', all }
  }
  const all = positions.all.filter((at) => text.startsWith(piece, at)).map((at) => at + piece.length)
  if (all.length > 0) return { kind: 'at', all }
  return isOwn ? { kind: 'from', first: Math.min(...positions.all) } : undefined
}
