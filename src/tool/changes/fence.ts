interface Fence {
  readonly marks: string
  readonly info: string
}

/** The fence that a line opens or closes, with the text after its marks. */
export function readFence(line: string): Fence | undefined {
  const match = /^\s*(`{3,}|~{3,})(.*)$/s.exec(line)
  const [, marks = '', info = ''] = match ?? []
  if (match === null || (marks.startsWith('`') && info.includes('`'))) return undefined
  return { marks, info: info.trim() }
}

/**
 * The index of the line that closes the fence opened on line `start`. Skips nested fences that are at least as long and
 * name a language; shorter ones are ignored. Undefined if `start` opens no fence, or it is never closed.
 */
function fenceEnd(lines: readonly string[], start: number): number | undefined {
  const open = readFence(lines[start] ?? '')
  if (open === undefined) return undefined
  let depth = 1
  for (let at = start + 1; at < lines.length; at += 1) {
    const fence = readFence(lines[at] ?? '')
    if (fence === undefined || !fence.marks.startsWith(open.marks)) continue
    depth += fence.info === '' ? -1 : 1
    if (depth === 0) return at
  }
  return undefined
}

/** The lines without a fence that wraps all of them; blank lines around it are removed too. */
export function withoutFence(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex(hasText)
  const last = lines.findLastIndex(hasText)
  if (first === -1 || fenceEnd(lines, first) !== last) return lines
  return lines.slice(first + 1, last)
}

/**
 * The lines inside the fence that the first and the last line form, whatever fences are in between; the lines unchanged
 * if they do not start with one. Undefined if the last line does not close the fence that the first one opens.
 */
export function outerFenceContent(lines: readonly string[]): readonly string[] | undefined {
  const first = lines.findIndex(hasText)
  const last = lines.findLastIndex(hasText)
  const open = readFence(lines[first] ?? '')
  if (open === undefined) return lines
  const close = readFence(lines[last] ?? '')
  const isClosed = last > first && close?.info === '' && close.marks.startsWith(open.marks)
  return isClosed ? lines.slice(first + 1, last) : undefined
}

/** Whether a line contains more than white space. */
export function hasText(line: string): boolean {
  return line.trim() !== ''
}
