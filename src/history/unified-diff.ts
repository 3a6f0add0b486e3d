/** Lines around each difference. */
const around = 3
/** More differing lines than this are shown as one block: looking for the shortest way would take too long. */
const mostEdits = 400

interface Edit {
  readonly kind: 'same' | 'removed' | 'added'
  readonly line: string
}

/** The lines of two texts that differ, in the unified form of diff(1), without file names; empty when they are equal. */
export function unifiedDiff(before: string, after: string): readonly string[] {
  if (before === after) return []
  return hunksOf(editsOf(before.split('\n'), after.split('\n')))
}

function editsOf(before: readonly string[], after: readonly string[]): readonly Edit[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  return [
    ...before.slice(0, start).map(edit('same')),
    ...shortest(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(edit('same')),
  ]
}

function edit(kind: Edit['kind']): (line: string) => Edit {
  return (line) => ({ kind, line })
}

/** The greedy algorithm of Myers: `reach` holds how far each diagonal goes with so many edits. */
function shortest(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const [n, m] = [before.length, after.length]
  const most = Math.min(n + m, mostEdits)
  let reach = new Map<number, number>([[1, 0]])
  const history: Map<number, number>[] = []
  for (let edits = 0; edits <= most; edits += 1) {
    history.push(reach)
    reach = new Map(reach)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isDown(reach, diagonal, edits) ? at(reach, diagonal + 1) : at(reach, diagonal - 1) + 1
      while (x < n && x - diagonal < m && before[x] === after[x - diagonal]) x += 1
      reach.set(diagonal, x)
      if (x >= n && x - diagonal >= m) return trace(history, { before, after })
    }
  }
  return [...before.map(edit('removed')), ...after.map(edit('added'))]
}

function at(reach: ReadonlyMap<number, number>, diagonal: number): number {
  return reach.get(diagonal) ?? -1
}

function isDown(reach: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  return diagonal === -edits || (diagonal !== edits && at(reach, diagonal - 1) < at(reach, diagonal + 1))
}

interface Texts {
  readonly before: readonly string[]
  readonly after: readonly string[]
}

function trace(history: readonly ReadonlyMap<number, number>[], { before, after }: Texts): readonly Edit[] {
  const edits: Edit[] = []
  let [x, y] = [before.length, after.length]
  for (let count = history.length - 1; count >= 0; count -= 1) {
    const reach = history[count] ?? new Map<number, number>()
    const diagonal = x - y
    const from = isDown(reach, diagonal, count) ? diagonal + 1 : diagonal - 1
    const fromX = at(reach, from)
    const fromY = fromX - from
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      edits.push({ kind: 'same', line: before[x - 1] ?? '' })
      x -= 1
      y -= 1
    }
    if (count === 0) break
    edits.push(
      x === fromX ? { kind: 'added', line: after[y - 1] ?? '' } : { kind: 'removed', line: before[x - 1] ?? '' },
    )
    x = fromX
    y = fromY
  }
  return edits.toReversed()
}

const signs = { same: ' ', removed: '-', added: '+' } as const

function hunksOf(edits: readonly Edit[]): readonly string[] {
  const lines: string[] = []
  for (const [start, end] of spansOf(edits)) {
    const before = edits.slice(0, start)
    const hunk = edits.slice(start, end)
    const old = countOf(hunk, 'added')
    const now = countOf(hunk, 'removed')
    lines.push(`@@ -${countOf(before, 'added') + 1},${old} +${countOf(before, 'removed') + 1},${now} @@`)
    lines.push(...hunk.map(({ kind, line }) => `${signs[kind]}${line}`))
  }
  return lines
}

function countOf(edits: readonly Edit[], without: Edit['kind']): number {
  return edits.filter(({ kind }) => kind !== without).length
}

/** The parts of the edits that are shown: each difference with the lines around it. */
function spansOf(edits: readonly Edit[]): readonly (readonly [start: number, end: number])[] {
  const spans: [number, number][] = []
  for (const [index, { kind }] of edits.entries()) {
    if (kind === 'same') continue
    const last = spans.at(-1)
    const [start, end] = [Math.max(0, index - around), Math.min(edits.length, index + around + 1)]
    if (last !== undefined && start <= last[1]) last[1] = end
    else spans.push([start, end])
  }
  return spans
}
