import type { HunkFailure } from './directive.ts'
import { type Document, fromDocument, Line, LineIndex, toDocument } from './lines.ts'
import { hasText } from './syntax.ts'
import { type Hunk, oldParts, parseHunks } from './hunk.ts'
import {
  type Effort,
  findPlace,
  fullEffort,
  type LineIndices,
  type Misplacement,
  type Placement,
  type PlaceOptions,
  type Tolerance,
} from './match-lines.ts'
import { type Edit, editLines } from './edits.ts'
import { textsInStyle } from './file-style.ts'

export interface PatchResult {
  readonly content: string
  readonly hunkCount: number
  readonly failures: readonly HunkFailure[]
  /** Warnings for the user: hunks that fit several places, one of which was chosen. */
  readonly doubts: readonly string[]
}

/**
 * Applies the hunks of a patch to a text, independently: a failing hunk changes nothing and is reported with its cause;
 * the others still count. Line endings and a missing final line break of the text are preserved.
 */
export function applyPatch(content: string, patch: string, tolerance: Tolerance = 'letters'): PatchResult {
  const { guesses, taken, ...result } = applyHunks(content, parseHunks(patch), { tolerance, order: 'file' })
  return { ...result, doubts: doubtsOf(guesses, taken) }
}

/** A search and replace block, of which the lines before it decide what is searched for. */
export interface WrittenBlock {
  /** The text as written. */
  readonly body: string
  readonly readIn: (lines: readonly Line[], effort: Effort) => Hunk | Pick<Misplacement, 'cause'>
}

/** Beyond this number of attempts, no block is applied. */
const mostRounds = 5

/**
 * Applies search and replace blocks to a text, each to the result of the one before. A block that fits in several places
 * fails, unless other blocks take the other places.
 */
export function applyBlocks(content: string, blocks: readonly WrittenBlock[]): PatchResult {
  const several = new Map<WrittenBlock, string>()
  for (let round = 0; ; round += 1) {
    const kept = blocks.filter((block) => !several.has(block))
    const { guesses, taken, ...result } = applyHunks(content, kept, { tolerance: 'none', order: 'first' })
    const causes = guesses.map((place) => severalCause(place, taken))
    const hasSeveral = causes.some((cause) => cause !== undefined)
    if (!hasSeveral) {
      const others = blocks.flatMap((block) => {
        const cause = several.get(block)
        return cause === undefined ? [] : [{ body: block.body, cause }]
      })
      return { ...result, hunkCount: blocks.length, failures: [...others, ...result.failures], doubts: [] }
    }
    for (const [index, { hunk }] of guesses.entries()) {
      const block = kept[hunk]
      const cause = causes[index] ?? (round === mostRounds ? notTried : undefined)
      if (block !== undefined && cause !== undefined) several.set(block, cause)
    }
  }
}

const notTried = 'other blocks of the file fit in several places'

function severalCause(place: Place, taken: ReadonlySet<number>): string | undefined {
  const open = openPlaces(place, taken)
  const isOnlyAdded = place.line === 0 && place.others.length > 1
  if (open.length === 0 && !isOnlyAdded) return undefined
  const lines = isOnlyAdded ? '' : `, at ${linesText([place.line, ...open].toSorted((one, other) => one - other))}`
  return `its search text is in the file ${place.others.length} times${lines}: include lines around it, so that it fits in one place only`
}

const mostLinesNamed = 20

/** Numbers of lines in words. */
export function linesText(lines: readonly number[]): string {
  const named = lines.slice(0, mostLinesNamed).join(', ')
  return `lines ${named}${lines.length > mostLinesNamed ? ' and more' : ''}`
}

/** With fewer hunks, scanning the file for each is cheaper. */
const leastIndexed = 30

interface HunkOptions {
  readonly tolerance: Tolerance
  /** Which of several places is used: `file`: the first after the previous hunk; `first`: the first in the text. */
  readonly order: 'file' | 'first'
}

interface PlacedHunks extends Omit<PatchResult, 'doubts'> {
  /** The places of the hunks, by their index. */
  readonly guesses: readonly (Place & { readonly hunk: number })[]
  readonly taken: ReadonlySet<number>
}

/**
 * Applies hunks. If lines are distinct, the time grows with the number of hunks plus the size of the text, not with
 * their product.
 */
function applyHunks(
  content: string,
  hunks: readonly (Hunk | WrittenBlock)[],
  { tolerance, order }: HunkOptions,
): PlacedHunks {
  const failures: HunkFailure[] = []
  const guesses: (Place & { readonly hunk: number })[] = []
  const taken = new Set<number>()
  const read = toDocument(content)
  const lines = [...read.lines]
  let document: Document = { ...read, lines }
  const index = hunks.length < leastIndexed ? undefined : new LineIndex(lines)
  const shared = { index, effort: fullEffort(), tolerance }
  let previousEnd: number | undefined
  for (const [number, written] of hunks.entries()) {
    const hunk = 'readIn' in written ? written.readIn(lines, shared.effort) : written
    const result = 'cause' in hunk ? hunk : tryHunk(document, hunk, { ...shared, previousEnd })
    if ('cause' in result) {
      failures.push({ body: written.body, cause: result.cause })
      continue
    }
    if (result.place !== undefined) {
      taken.add(result.place.line)
      guesses.push({ ...result.place, hunk: number })
    }
    const removed = editLines(lines, result)
    index?.replaced(removed, result.put)
    document = { ...document, hasFinalNewline: result.hasFinalNewline }
    previousEnd = order === 'first' ? 0 : result.start + result.put.length
  }
  return { content: fromDocument(document), hunkCount: hunks.length, failures, guesses, taken }
}

/** Line numbers in the file as the model saw it, from 1; 0 for lines that were not in it. */
interface Place {
  readonly line: number
  /** Other places where the hunk fits. */
  readonly others: readonly number[]
}

const mostNumbers = 5
/** Only the last of them are kept: hunks take them from the first on. */
const mostAlike = 100

function doubtsOf(guesses: readonly Place[], taken: ReadonlySet<number>): readonly string[] {
  return guesses.flatMap(({ line, others }) => {
    const open = openPlaces({ line, others }, taken)
    if (open.length === 0 || line === 0) return []
    const more = open.length > mostNumbers ? ` and ${open.length - mostNumbers} more` : ''
    const numbers = `line${open.length === 1 ? '' : 's'} ${open.slice(0, mostNumbers).join(', ')}${more}`
    return [`a hunk was applied at line ${line}, but fits at ${numbers} as well`]
  })
}

/** Places taken by other hunks are not ambiguous. */
function openPlaces({ others }: Place, taken: ReadonlySet<number>): readonly number[] {
  return others.filter((other) => other > 0 && !taken.has(other))
}

type Applied = HunkEdit & { readonly place?: Place }

function tryHunk(document: Document, hunk: Hunk, options: PlaceOptions): Applied | Pick<Misplacement, 'cause'> {
  const problem = problemOf(hunk)
  if (problem !== undefined) return { cause: problem }
  if (isAppending(hunk)) return hunk.isAtStart === true ? prependHunk(document, hunk) : appendHunk(document, hunk)
  const { lines } = document
  const place = findPlace(hunk, lines, options)
  if (place.tier === 'none') return place
  const loosely = options.tolerance === 'letters' ? ({ ...place, tier: 'whitespace' } as const) : undefined
  const applied = applyHunk(document, hunk, place) ?? (loosely && applyHunk(document, hunk, loosely))
  if (applied === undefined) return { cause: 'its lines are in the file with different quotes, dashes or entities' }
  const alike = place.alike ?? []
  const [line = 0, ...others] = [place.start, ...alike.slice(-mostAlike)].map((index) => lines[index]?.number ?? 0)
  return { ...applied, place: { line, others } }
}

/** Nothing to look for: every line that is not added is blank. */
function isAppending({ lines }: Hunk): boolean {
  return lines.every((line) => line.kind === 'add' || (line.kind === 'context' && !hasText(line.text)))
}

const gapNeighbours = 2
/** All places are kept in memory for each gap. */
const mostGaps = 50

function problemOf(hunk: Hunk): string | undefined {
  if (!hunk.lines.some(({ kind }) => kind === 'add' || kind === 'remove')) return 'no line of it begins with + or -'
  const parts = oldParts(hunk)
  if (parts.length > mostGaps + 1) return `it has more than ${mostGaps} ~ lines: split it into several hunks`
  const hasNeighbours = parts.every((part, number) => {
    const before = number === 0 || part.slice(0, gapNeighbours).every(({ kind }) => kind === 'remove')
    const behind = number === parts.length - 1 || part.slice(-gapNeighbours).every(({ kind }) => kind === 'remove')
    return before && behind && (parts.length === 1 || part.length >= gapNeighbours)
  })
  if (!hasNeighbours) return `a ~ needs at least ${gapNeighbours} removed lines directly before it and after it`
  return undefined
}

/** What a hunk does to a document. */
interface HunkEdit extends Edit<readonly Line[]> {
  readonly hasFinalNewline: boolean
}

/**
 * Applies a hunk to a document at its place. Context lines keep the file's own text, even if they differ. Undefined if
 * it cannot be determined how the file would write the added lines.
 */
function applyHunk(document: Document, hunk: Hunk, { tier, at }: Placement): HunkEdit | undefined {
  const placed = at.filter((index) => index !== undefined)
  const start = placed.reduce((least, index) => Math.min(least, index), document.lines.length)
  const end = placed.reduce((most, index) => Math.max(most, index + 1), 0)
  const hasOtherMarks = tier === 'marks' || tier === 'fuzzy'
  const added =
    tier === 'exact' ? hunk.lines.map(textOf) : textsInStyle(hunk, { at, lines: document.lines, hasOtherMarks })
  if (added === undefined) return undefined
  const put = rewritten(document, { hunk, at, start, added })
  return { start, end, put, hasFinalNewline: finalNewline(document, hunk, end) }
}

/** Appends the added lines of a hunk to a document, including blank context between them. */
function appendHunk(document: Document, hunk: Hunk): HunkEdit {
  const first = hunk.lines.findIndex(({ kind }) => kind === 'add')
  const last = hunk.lines.findLastIndex(({ kind }) => kind === 'add')
  const put = hunk.lines.slice(first, last + 1).map((line) => newLine(textOf(line), document))
  const isEmpty = document.lines.length === 0
  const hasFinalNewline = isEmpty ? (hunk.finalNewline ?? true) : finalNewline(document, hunk, document.lines.length)
  return { start: document.lines.length, end: document.lines.length, put, hasFinalNewline }
}

/** Inserts the added lines of a hunk at the start of a document. */
function prependHunk(document: Document, hunk: Hunk): HunkEdit {
  const put = hunk.lines.map((line) => newLine(textOf(line), document))
  return { start: 0, end: 0, put, hasFinalNewline: document.lines.length === 0 || document.hasFinalNewline }
}

function textOf(line: Hunk['lines'][number]): string {
  return line.kind === 'gap' ? '' : line.text
}

function newLine(text: string, { end }: Document): Line {
  return new Line(text, { end, number: undefined })
}

function finalNewline(document: Document, { finalNewline: wanted }: Hunk, end: number): boolean {
  return end === document.lines.length && wanted !== undefined ? wanted : document.hasFinalNewline
}

interface Rewriting {
  readonly hunk: Hunk
  readonly at: LineIndices
  /** Index of the first line of the file that the hunk mentions. */
  readonly start: number
  /** The text of each line of the hunk if it is added. */
  readonly added: readonly string[]
}

function rewritten(document: Document, { hunk, at, start, added }: Rewriting): readonly Line[] {
  const result: Line[] = []
  let next = start
  let previous: Hunk['lines'][number]['kind'] | undefined
  for (const [number, line] of hunk.lines.entries()) {
    const index = at[number]
    if (line.kind === 'add' || (index === undefined && isMissingPrefix(hunk, number))) {
      result.push(newLine(added[number] ?? '', document))
    } else if (index !== undefined) {
      const skipped = document.lines.slice(next, index)
      const dropsSkipped =
        line.kind === 'remove' && (previous === 'gap' || (previous === 'remove' && allBlank(skipped)))
      if (!dropsSkipped) for (const one of skipped) result.push(one)
      const kept = line.kind === 'context' ? document.lines[index] : undefined
      if (kept !== undefined) result.push(kept)
      next = index + 1
    }
    if (line.kind === 'gap' || index !== undefined) previous = line.kind
  }
  return result
}

function allBlank(lines: readonly Line[]): boolean {
  return lines.every(({ text }) => !hasText(text))
}

/** A blank line between added lines that the file does not have: its `+` was forgotten. */
function isMissingPrefix({ lines }: Hunk, number: number): boolean {
  return lines[number]?.kind === 'context' && lines[number - 1]?.kind === 'add' && lines[number + 1]?.kind === 'add'
}
