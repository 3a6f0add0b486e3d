import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** What was appended to a file since it was read last. */
interface AppendedLines {
  /** Without their ends. All lines of the file if it was replaced. */
  readonly lines: readonly string[]
  /** Whether it is another file, or a cut one: lines that were read before are no longer in it. */
  readonly isReplaced: boolean
  /** Whether something follows the last whole line. */
  readonly hasPartialLine: boolean
}

/**
 * Reads a file that other processes append lines to, again and again: each time only what was added. A last line without
 * its end is left for the next time. A file that cannot be read counts as replaced by an empty one.
 * @param mostBytes bytes of one read; what is left follows with the next one
 */
export function createLineReader(file: string, mostBytes = Number.POSITIVE_INFINITY): () => AppendedLines {
  let before: Pick<Stats, 'ino' | 'birthtimeMs'> | undefined
  let position = 0
  return () => {
    try {
      const descriptor = openSync(file, 'r')
      try {
        const now = fstatSync(descriptor)
        const goesOn = before?.ino === now.ino && before.birthtimeMs === now.birthtimeMs && now.size >= position
        if (!goesOn) position = 0
        before = now
        const whole = wholeLines(descriptor, position, Math.min(now.size - position, mostBytes))
        position += whole.length
        const lines = whole.toString('utf8').split('\n').slice(0, -1)
        return { lines, isReplaced: !goesOn, hasPartialLine: position < now.size }
      } finally {
        closeSync(descriptor)
      }
    } catch {
      before = undefined
      return { lines: [], isReplaced: true, hasPartialLine: false }
    }
  }
}

function wholeLines(descriptor: number, from: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count)
  let length = 0
  while (length < count) {
    const read = readSync(descriptor, bytes, length, count - length, from + length)
    if (read === 0) break
    length += read
  }
  return bytes.subarray(0, bytes.subarray(0, length).lastIndexOf(10) + 1)
}
