import { appendHunk, applyHunk, type HunkResult } from './apply-hunk.ts'
import type { HunkFailure } from './directive.ts'
import { fromDocument, toDocument, type Document } from './document.ts'
import { type Hunk, isBlank, oldParts, parseHunks } from './hunk.ts'
import { findPlace, type Misplacement, type PlaceOptions } from './place.ts'

export interface PatchResult {
  readonly content: string
  readonly hunkCount: number
  readonly failures: readonly HunkFailure[]
}

/**
 * Applies the hunks of a patch to a text, each on its own: one that fails changes nothing and is named with its cause,
 * the others still count (P-D8). Line breaks and a missing last one stay as they are in the text.
 */
export function applyPatch(content: string, patch: string): PatchResult {
  const hunks = parseHunks(patch)
  const failures: HunkFailure[] = []
  let document = toDocument(content)
  let previousEnd: number | undefined
  for (const hunk of hunks) {
    const result = tryHunk(document, hunk, { previousEnd })
    if ('cause' in result) {
      failures.push({ body: hunk.body, cause: result.cause })
      continue
    }
    document = result.document
    previousEnd = result.end
  }
  return { content: fromDocument(document), hunkCount: hunks.length, failures }
}

function tryHunk(document: Document, hunk: Hunk, options: PlaceOptions): HunkResult | Pick<Misplacement, 'cause'> {
  const problem = problemOf(hunk)
  if (problem !== undefined) return { cause: problem }
  if (isAppending(hunk)) return appendHunk(document, hunk)
  const place = findPlace(hunk, document.lines, options)
  return place.tier === 'none' ? place : applyHunk(document, hunk, place)
}

/** Nothing to look for: all that is not added is blank. */
function isAppending({ lines }: Hunk): boolean {
  return lines.every((line) => line.kind === 'add' || (line.kind === 'context' && isBlank(line.text)))
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
