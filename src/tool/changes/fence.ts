interface Fence {
  readonly marks: string
  readonly info: string
}

/** The fence that a line opens or closes, with what stands behind its marks. */
export function readFence(line: string): Fence | undefined {
  const match = /^\s*(`{3,}|~{3,})(.*)$/s.exec(line)
  const [, marks = '', info = ''] = match ?? []
  if (match === null || (marks.startsWith('`') && info.includes('`'))) return undefined
  return { marks, info: info.trim() }
}

/**
 * Where the fence that opens in line `start` ends: the index of its closing line. Fences in it that are as long and
 * name a language are passed over as a whole; shorter ones do not matter. Undefined when `start` opens none, or it is
 * never closed.
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

/** The lines without a fence that wraps all of them; blank lines around it go with it. */
export function withoutFence(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex(hasText)
  const last = lines.findLastIndex(hasText)
  if (first === -1 || fenceEnd(lines, first) !== last) return lines
  return lines.slice(first + 1, last)
}

/**
 * The lines within the fence that they begin and end with, whatever fences stand between; the lines themselves when
 * they do not begin with one. Undefined when the last line does not close the fence that the first opens.
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

/** Whether a line holds more than white space. */
export function hasText(line: string): boolean {
  return line.trim() !== ''
}
