import { structuredPatch, type StructuredPatchHunk } from 'diff'

export interface DiffOptions {
  /** Labels of the two texts. */
  readonly from: string
  readonly to: string
  /** Unchanged lines shown around each change. */
  readonly context?: number
}

/**
 * With more differing lines than this, the change is shown as one replacement: finding the fewest edits would take too
 * long.
 */
const maxEdits = 1000
const noNewline = '\\ No newline at end of file'

/** The changes between two texts in the unified format of diff(1); empty for equal texts. Ends with a line feed. */
export function unifiedDiff(before: string, after: string, { from, to, context = 3 }: DiffOptions): string {
  if (before === after) return ''
  const limits = { context, maxEditLength: maxEdits }
  const patch = structuredPatch(from, to, before, after, undefined, undefined, limits)
  const hunks = patch?.hunks ?? [replacement(linesOf(before), linesOf(after), context)]
  return `--- ${from}\n+++ ${to}\n${hunks.map(hunkText).join('')}`
}

/** A single change of everything between the lines that both texts start and end with. */
function replacement(before: readonly string[], after: readonly string[], context: number): StructuredPatchHunk {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start += 1
  let same = 0
  while (same < most - start && before.at(-1 - same) === after.at(-1 - same)) same += 1
  const first = Math.max(0, start - context)
  const shown = Math.min(same, context)
  const lines = [
    ...before.slice(first, start).map((line) => ` ${line}`),
    ...before.slice(start, before.length - same).map((line) => `-${line}`),
    ...after.slice(start, after.length - same).map((line) => `+${line}`),
    ...before.slice(before.length - same, before.length - same + shown).map((line) => ` ${line}`),
  ]
  return {
    oldStart: first + 1,
    oldLines: before.length - same + shown - first,
    newStart: first + 1,
    newLines: after.length - same + shown - first,
    lines: lines.flatMap((line) => (line.endsWith('\n') ? [line.slice(0, -1)] : [line, noNewline])),
  }
}

/** The lines including their line feeds, so that a missing last one is a difference. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatchHunk): string {
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@\n${lines.join('\n')}\n`
}

/** As diff(1) writes it: a single line without its count, an empty range by the line before it. */
function range(start: number, count: number): string {
  return count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`
}
