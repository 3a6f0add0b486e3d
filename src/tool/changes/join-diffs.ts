import { posix } from 'node:path'
import type { ContentDirective, Directive } from './directive.ts'
import { hasText } from './fence.ts'
import { type Hunk, parseHunks } from './hunk.ts'
import type { ChangePiece, Piece } from './pieces.ts'

type Patch = ContentDirective & { readonly kind: 'Patch' }

/**
 * Merges fenced diffs of the same file, with no other change of it in between, into one patch at the position of the
 * first, if the result is unambiguous: no hunk of one concerns lines of another. All other diffs stay unchanged.
 */
export function withJoinedDiffs(pieces: readonly Piece[]): readonly Piece[] {
  const joins = groupsOf(pieces).filter((group) => group.length > 1 && isClear(group))
  if (joins.length === 0) return pieces
  const replaced = new Map<Directive, readonly Directive[]>()
  for (const group of joins) {
    const [first] = group
    const content = group.map((patch) => patch.content).join('')
    for (const patch of group) replaced.set(patch, patch === first ? [{ ...first, content }] : [])
  }
  return pieces.map((piece) =>
    piece.kind === 'change'
      ? { ...piece, directives: piece.directives.flatMap((directive) => replaced.get(directive) ?? [directive]) }
      : piece,
  )
}

/** The patches that could be merged, by file. */
function groupsOf(pieces: readonly Piece[]): readonly (readonly Patch[])[] {
  const groups: Patch[][] = []
  let open = new Map<string, Patch[]>()
  for (const piece of pieces.filter((one): one is ChangePiece => one.kind === 'change')) {
    for (const directive of piece.directives) {
      const path = posix.normalize(directive.filePath)
      if (piece.form !== 'diff' || !isPatch(directive)) {
        // moves and deletions may affect more than their own path
        if ('content' in directive) open.delete(path)
        else open = new Map()
        continue
      }
      const group = open.get(path)
      if (group !== undefined) group.push(directive)
      else {
        const begun = [directive]
        open.set(path, begun)
        groups.push(begun)
      }
    }
  }
  return groups
}

function isPatch(directive: Directive): directive is Patch {
  return directive.kind === 'Patch'
}

/**
 * Whether no two patches concern the same lines: by line numbers if all hunks have them, or else by the texts of the
 * lines.
 */
function isClear(group: readonly Patch[]): boolean {
  // lines before the first header would belong to the previous hunk
  if (!group.every(({ content }) => content.startsWith('@@'))) return false
  const diffs = group.map(({ content }) => parseHunks(content))
  const hunks = diffs.flat()
  const texts = hunks.map(({ lines }) => JSON.stringify(lines))
  if (new Set(texts).size < texts.length) return false
  return hunks.every(({ hint }) => hint.number !== undefined) ? areApart(hunks) : haveOwnLines(diffs)
}

function areApart(hunks: readonly Hunk[]): boolean {
  const ranges = hunks.map(({ hint: { number = 0 }, lines }) => {
    const old = lines.filter(({ kind }) => kind === 'context' || kind === 'remove').length
    return { start: number, end: number + Math.max(old, 1) }
  })
  const sorted = ranges.toSorted((a, b) => a.start - b.start)
  return sorted.every(({ start }, index) => start >= (sorted[index - 1]?.end ?? 0))
}

function haveOwnLines(diffs: readonly (readonly Hunk[])[]): boolean {
  const before = new Set<string>()
  return diffs.every((hunks) => {
    const lines = hunks.flatMap((hunk) => hunk.lines).filter((line) => line.kind !== 'gap' && hasText(line.text))
    const texts = lines.map((line) => ('text' in line ? line.text.trim() : ''))
    const isApart = texts.every((text) => !before.has(text))
    for (const text of texts) before.add(text)
    return isApart
  })
}
