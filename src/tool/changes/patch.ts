import { appendHunk, applyHunk, type HunkResult, prependHunk } from './apply-hunk.ts'
import type { HunkFailure } from './directive.ts'
import { type Document, fromDocument, type Line, toDocument } from './document.ts'
import { hasText } from './fence.ts'
import { type Hunk, oldParts, parseHunks } from './hunk.ts'
import { LineIndex } from './line-index.ts'
import { findPlace, type Misplacement, type PlaceOptions, type Tolerance } from './place.ts'
import { fullEffort } from './place-starts.ts'

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
  return applyHunks(content, parseHunks(patch), { tolerance, order: 'file' })
}

/** With fewer hunks, scanning the file for each is cheaper. */
const leastIndexed = 30

interface HunkOptions {
  readonly tolerance: Tolerance
  /** Which of several places is used: `file`: the first after the previous hunk; `first`: the first in the text. */
  readonly order: 'file' | 'first'
}

/**
 * Applies hunks. If lines are distinct, the time grows with the number of hunks plus the size of the text, not with
 * their product.
 */
export function applyHunks(content: string, hunks: readonly Hunk[], { tolerance, order }: HunkOptions): PatchResult {
  const failures: HunkFailure[] = []
  const guesses: Place[] = []
  const taken = new Set<number>()
  const read = toDocument(content)
  const lines = [...read.lines]
  let document: Document = { ...read, lines }
  const index = hunks.length < leastIndexed ? undefined : new LineIndex(lines)
  const shared = { index, effort: fullEffort(), tolerance }
  let previousEnd: number | undefined
  for (const hunk of hunks) {
    const result = tryHunk(document, hunk, { ...shared, previousEnd })
    if ('cause' in result) {
      failures.push({ body: hunk.body, cause: result.cause })
      continue
    }
    if (result.place !== undefined && order === 'file') {
      taken.add(result.place.line)
      guesses.push(result.place)
    }
    const removed = replaceLines(lines, result)
    index?.replaced(removed, result.lines)
    document = { ...document, hasFinalNewline: result.hasFinalNewline }
    previousEnd = order === 'first' ? 0 : result.start + result.lines.length
  }
  return { content: fromDocument(document), hunkCount: hunks.length, failures, doubts: doubtsOf(guesses, taken) }
}

/** The maximum number of arguments for one call. */
const mostArguments = 10_000

function replaceLines(lines: Line[], { start, end, lines: added }: HunkResult): readonly Line[] {
  if (added.length <= mostArguments) return lines.splice(start, end - start, ...added)
  const removed = lines.slice(start, end)
  const behind = lines.slice(end)
  lines.length = start
  for (const line of added) lines.push(line)
  for (const line of behind) lines.push(line)
  return removed
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
    // places taken by other hunks are not ambiguous
    const open = others.filter((other) => other > 0 && !taken.has(other))
    if (open.length === 0 || line === 0) return []
    const more = open.length > mostNumbers ? ` and ${open.length - mostNumbers} more` : ''
    const numbers = `line${open.length === 1 ? '' : 's'} ${open.slice(0, mostNumbers).join(', ')}${more}`
    return [`a hunk was applied at line ${line}, but fits at ${numbers} as well`]
  })
}

type Applied = HunkResult & { readonly place?: Place }

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
