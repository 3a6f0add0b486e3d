import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** The values of the lines of a file. */
interface Lines<Value> {
  readonly all: readonly Value[]
  /** Those that were added since the last time; all of them if the file was replaced. */
  readonly added: readonly Value[]
  readonly isReplaced: boolean
  /** Whether the file has something after its last whole line. */
  readonly hasRest: boolean
}

/**
 * Reads a file that other processes append lines to, again and again: only what was added is read and parsed. A file that
 * was replaced or cut is read anew. A last line without its end is left for the next time. A file that cannot be read has
 * no lines.
 */
export function createLineReader<Value>(file: string, parse: (line: string) => Value): () => Lines<Value> {
  const values: Value[] = []
  let before: Pick<Stats, 'ino' | 'birthtimeMs'> | undefined
  let position = 0
  return () => {
    try {
      const descriptor = openSync(file, 'r')
      try {
        const now = fstatSync(descriptor)
        const goesOn = before?.ino === now.ino && before.birthtimeMs === now.birthtimeMs && now.size >= position
        if (!goesOn) forget()
        before = now
        const bytes = wholeLinesFrom(descriptor, position, now.size)
        position += bytes.length
        const added = bytes.toString('utf8').split('\n').slice(0, -1).map(parse)
        for (const value of added) values.push(value)
        return { all: values, added, isReplaced: !goesOn, hasRest: position < now.size }
      } finally {
        closeSync(descriptor)
      }
    } catch {
      forget()
      return { all: values, added: [], isReplaced: true, hasRest: false }
    }
  }

  function forget(): void {
    values.length = 0
    position = 0
    before = undefined
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
