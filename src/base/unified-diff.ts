/** One line of a comparison: in both, only before, or only after. */
interface Edit {
  readonly kind: ' ' | '-' | '+'
  readonly text: string
}

export interface DiffOptions {
  /** What the two texts are called. */
  readonly from: string
  readonly to: string
  /** Equal lines shown around each change. */
  readonly context?: number
}

/** More differing lines than this are shown as one replacement: finding the least edits would take too long. */
const maxEdits = 1000
const noNewline = '\\ No newline at end of file'

/** What has changed between two texts, in the unified format of diff(1); empty for equal ones. Ends with a line feed. */
export function unifiedDiff(before: string, after: string, { from, to, context = 3 }: DiffOptions): string {
  if (before === after) return ''
  const edits = editsBetween(linesOf(before), linesOf(after))
  const hunks = hunksOf(edits, context).map((hunk) => hunkText(edits, hunk))
  return `--- ${from}\n+++ ${to}\n${hunks.join('')}`
}

/** The lines with their line feeds, so that a missing last one is a difference. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function editsBetween(before: readonly string[], after: readonly string[]): readonly Edit[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1
  let same = 0
  const most = Math.min(before.length, after.length) - start
  while (same < most && before[before.length - 1 - same] === after[after.length - 1 - same]) same += 1
  const middle = shortestEdits(before.slice(start, before.length - same), after.slice(start, after.length - same))
  return [...editsOf(' ', before.slice(0, start)), ...middle, ...editsOf(' ', before.slice(before.length - same))]
}

function editsOf(kind: Edit['kind'], lines: readonly string[]): readonly Edit[] {
  return lines.map((text) => ({ kind, text }))
}

/** The greedy algorithm of Myers: the furthest point on each diagonal, for one edit more at a time. */
function shortestEdits(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const steps: Map<number, number>[] = []
  let furthest = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(before.length + after.length, maxEdits); edits += 1) {
    const reached = new Map<number, number>()
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = startOf(furthest, { diagonal, edits })
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1
      reached.set(diagonal, x)
      if (x >= before.length && x - diagonal >= after.length) return wayBack(before, after, [...steps, furthest])
    }
    steps.push(furthest)
    furthest = reached
  }
  return [...editsOf('-', before), ...editsOf('+', after)]
}

interface Step {
  readonly diagonal: number
  readonly edits: number
}

function comesFromAbove(furthest: ReadonlyMap<number, number>, { diagonal, edits }: Step): boolean {
  if (diagonal === -edits) return true
  return diagonal !== edits && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1)
}

function startOf(furthest: ReadonlyMap<number, number>, step: Step): number {
  const { diagonal } = step
  if (comesFromAbove(furthest, step)) return furthest.get(diagonal + 1) ?? 0
  return (furthest.get(diagonal - 1) ?? 0) + 1
}

function wayBack(
  before: readonly string[],
  after: readonly string[],
  steps: readonly ReadonlyMap<number, number>[],
): readonly Edit[] {
  const edits: Edit[] = []
  let x = before.length
  let y = after.length
  for (let count = steps.length - 1; count >= 0; count -= 1) {
    const furthest = steps[count] as ReadonlyMap<number, number>
    const step = { diagonal: x - y, edits: count }
    const above = comesFromAbove(furthest, step)
    const startX = startOf(furthest, step)
    const startY = startX - step.diagonal
    while (x > startX && y > startY) {
      edits.push({ kind: ' ', text: before[x - 1] ?? '' })
      x -= 1
      y -= 1
    }
    if (count === 0) break
    if (above) edits.push({ kind: '+', text: after[--y] ?? '' })
    else edits.push({ kind: '-', text: before[--x] ?? '' })
  }
  return edits.toReversed()
}

interface Hunk {
  readonly start: number
  readonly end: number
}

/** Ranges of edits that hold changes, with equal lines around; those that touch are one. */
function hunksOf(edits: readonly Edit[], context: number): readonly Hunk[] {
  const hunks: Hunk[] = []
  for (const [index, { kind }] of edits.entries()) {
    if (kind === ' ') continue
    const last = hunks.at(-1)
    const range = { start: Math.max(0, index - context), end: Math.min(edits.length, index + context + 1) }
    if (last !== undefined && range.start <= last.end) hunks[hunks.length - 1] = { start: last.start, end: range.end }
    else hunks.push(range)
  }
  return hunks
}

function hunkText(edits: readonly Edit[], { start, end }: Hunk): string {
  const earlier = edits.slice(0, start)
  const shown = edits.slice(start, end)
  const lines = shown.map(({ kind, text }) => `${kind}${text.endsWith('\n') ? text : `${text}\n${noNewline}\n`}`)
  return `@@ -${range(earlier, shown, '-')} +${range(earlier, shown, '+')} @@\n${lines.join('')}`
}

/** First line and number of lines of one side. */
function range(earlier: readonly Edit[], shown: readonly Edit[], side: '-' | '+'): string {
  const count = (edits: readonly Edit[]): number => edits.filter(({ kind }) => kind === ' ' || kind === side).length
  const length = count(shown)
  const first = count(earlier) + (length === 0 ? 0 : 1)
  return length === 1 ? `${first}` : `${first},${length}`
}
