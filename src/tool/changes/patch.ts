import { appendHunk, applyHunk, type HunkResult } from './apply-hunk.ts'
import type { HunkFailure } from './directive.ts'
import { fromDocument, toDocument, type Document } from './document.ts'
import { hasText } from './fence.ts'
import { type Hunk, oldParts, parseHunks } from './hunk.ts'
import { findPlace, type Misplacement, type PlaceOptions } from './place.ts'

export interface PatchResult {
  readonly content: string
  readonly hunkCount: number
  readonly failures: readonly HunkFailure[]
  /** What a person should look at: hunks that fitted several places, of which one was taken. */
  readonly doubts: readonly string[]
}

/**
 * Applies the hunks of a patch to a text, each on its own: one that fails changes nothing and is named with its cause,
 * the others still count. Line breaks and a missing last one stay as they are in the text.
 */
export function applyPatch(content: string, patch: string): PatchResult {
  const hunks = parseHunks(patch)
  const failures: HunkFailure[] = []
  const guesses: Place[] = []
  const taken = new Set<number>()
  let document = toDocument(content)
  let previousEnd: number | undefined
  for (const hunk of hunks) {
    const result = tryHunk(document, hunk, { previousEnd })
    if ('cause' in result) {
      failures.push({ body: hunk.body, cause: result.cause })
      continue
    }
    if (result.place !== undefined) {
      taken.add(result.place.line)
      guesses.push(result.place)
    }
    document = result.document
    previousEnd = result.end
  }
  return { content: fromDocument(document), hunkCount: hunks.length, failures, doubts: doubtsOf(guesses, taken) }
}

/** Numbers of lines in the file as the model saw it, from 1; 0 for lines that were not in it. */
interface Place {
  readonly line: number
  /** Where the hunk fits as well. */
  readonly others: readonly number[]
}

const mostNumbers = 5

function doubtsOf(guesses: readonly Place[], taken: ReadonlySet<number>): readonly string[] {
  return guesses.flatMap(({ line, others }) => {
    // where another hunk was applied, each has its place
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
  if (isAppending(hunk)) return appendHunk(document, hunk)
  const { lines } = document
  const place = findPlace(hunk, lines, options)
  if (place.tier === 'none') return place
  const [line = 0, ...others] = [place.start, ...(place.alike ?? [])].map((index) => lines[index]?.number ?? 0)
  return { ...applyHunk(document, hunk, place), place: { line, others } }
}

/** Nothing to look for: all that is not added is blank. */
function isAppending({ lines }: Hunk): boolean {
  return lines.every((line) => line.kind === 'add' || (line.kind === 'context' && !hasText(line.text)))
}

const gapNeighbours = 2

function problemOf(hunk: Hunk): string | undefined {
  if (!hunk.lines.some(({ kind }) => kind === 'add' || kind === 'remove')) return 'no line of it begins with + or -'
  const parts = oldParts(hunk)
  const hasNeighbours = parts.every((part, number) => {
    const before = number === 0 || part.slice(0, gapNeighbours).every(({ kind }) => kind === 'remove')
    const behind = number === parts.length - 1 || part.slice(-gapNeighbours).every(({ kind }) => kind === 'remove')
    return before && behind && (parts.length === 1 || part.length >= gapNeighbours)
  })
  if (!hasNeighbours) return `a ~ needs at least ${gapNeighbours} removed lines directly before it and behind it`
  return undefined
}
