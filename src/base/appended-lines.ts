import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/**
 * Reads a file that other processes append lines to, again and again: only what was added is read and parsed. A file that
 * was replaced or cut is read anew. A last line without its end is left for the next time.
 * @returns a function for the values of all lines; the same array as before if nothing was added, and empty if the file
 * cannot be read
 */
export function createLineReader<Value>(file: string, parse: (line: string) => Value): () => readonly Value[] {
  let values: readonly Value[] = []
  let before: Pick<Stats, 'ino' | 'birthtimeMs'> | undefined
  let position = 0
  return () => {
    try {
      const descriptor = openSync(file, 'r')
      try {
        const now = fstatSync(descriptor)
        const goesOn = before?.ino === now.ino && before.birthtimeMs === now.birthtimeMs && now.size >= position
        if (!goesOn) [values, position] = [[], 0]
        before = now
        const added = wholeLinesFrom(descriptor, position, now.size)
        if (added.length === 0) return values
        position += added.length
        const lines = added.toString('utf8').split('\n').slice(0, -1)
        values = [...values, ...lines.map(parse)]
      } finally {
        closeSync(descriptor)
      }
    } catch {
      ;[values, position, before] = [[], 0, undefined]
    }
    return values
  }
}

function wholeLinesFrom(descriptor: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(to - from)
  let length = 0
  while (length < bytes.length) {
    const read = readSync(descriptor, bytes, length, bytes.length - length, from + length)
    if (read === 0) break
    length += read
  }
  return bytes.subarray(0, bytes.subarray(0, length).lastIndexOf(10) + 1)
}
