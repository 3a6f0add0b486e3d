import { isAscii } from 'node:buffer'
import { readSync } from 'node:fs'
import { readRegular } from '../../base/regular-file.ts'
import { lineTest, type SearchPattern } from '../../base/search-pattern.ts'

export interface FileMatches {
  /** Absolute. */
  readonly file: string
  /** The number of matching lines. */
  readonly count: number
  /** Their numbers, from 1; only for files whose lines are requested. */
  readonly lines: readonly number[]
}

export interface SearchOptions {
  readonly pattern: SearchPattern
  /** How many line numbers to return, from the first matching files. */
  readonly lines: number
}

/** Bytes of a file searched at once. A longer line is searched in parts. */
const windowBytes = 4 * 1024 * 1024
/** A file with a NUL byte in its first bytes is not text. */
const headBytes = 8 * 1024

/**
 * Searches files (absolute paths, links resolved), in their order. Files that are not text or cannot be read have no
 * lines. Runs in a thread, because much text takes long.
 */
export function searchFiles(files: readonly string[], { pattern, lines }: SearchOptions): readonly FileMatches[] {
  const matcher = createMatcher(pattern)
  const window = Buffer.allocUnsafe(windowBytes)
  const found: FileMatches[] = []
  let left = lines
  for (const file of files) {
    const matches = searchFile(file, { matcher, window, most: left })
    if (matches.count === 0) continue
    found.push(matches)
    left -= matches.lines.length
  }
  return found
}

interface Searching {
  readonly matcher: Matcher
  readonly window: Buffer
  readonly most: number
}

function searchFile(file: string, { matcher, window, most }: Searching): FileMatches {
  const lines: number[] = []
  let count = 0
  let before = 0
  const look = (bytes: Buffer): void => {
    before += matcher(bytes, (line) => {
      count += 1
      if (lines.length < most) lines.push(before + line)
    })
  }
  try {
    readRegular(
      file,
      (descriptor) => {
        let size = 0
        for (let position = 0; ;) {
          const read = readSync(descriptor, window, size, window.length - size, position)
          if (position === 0 && window.subarray(0, Math.min(read, headBytes)).includes(0)) return
          position += read
          size += read
          if (read === 0) break
          if (size < window.length) continue
          const end = window.lastIndexOf(10, size - 1) + 1 || size
          look(window.subarray(0, end))
          window.copyWithin(0, end, size)
          size -= end
        }
        if (size > 0) look(window.subarray(0, size))
      },
      { real: true },
    )
  } catch {
    return { file, count: 0, lines: [] }
  }
  return { file, count, lines }
}

/** Calls `onLine` with the number of each matching line, and returns the number of complete lines. */
type Matcher = (bytes: Buffer, onLine: (line: number) => void) => number

function createMatcher(pattern: SearchPattern): Matcher {
  const plain = lineTest(pattern, true)
  let full: ((line: string) => boolean) | undefined
  return (bytes, onLine) => {
    const isPlain = isAscii(bytes)
    const text = bytes.toString(isPlain ? 'latin1' : 'utf8')
    const matches = isPlain ? plain : (full ??= lineTest(pattern, false))
    // most texts have no match: a line that matches does so in the whole text too
    const isMatch = matches(text)
    let ended = 0
    let from = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      ended += 1
      if (isMatch && matches(text.slice(from, end))) onLine(ended)
      from = end + 1
    }
    // there is no line after the last line feed
    if (isMatch && from < text.length && matches(text.slice(from))) onLine(ended + 1)
    return ended
  }
}
