import { isUtf8 } from 'node:buffer'
import { modelText } from '../../base/model-text.ts'
import { createHash } from '../../base/hash.ts'

/** A line to show: without its line ending, and truncated if it is long. */
interface ReadLine {
  readonly text: string
  readonly isCut: boolean
  readonly endsInCrLf: boolean
  readonly isUtf8: boolean
}

interface LineReaderOptions {
  /** Characters of a line that are shown. */
  readonly characters: number
  /** Called with the number of each line, from 1, when it starts and when it ends. */
  readonly isWanted: (line: number) => boolean
  /** Called for each line that is wanted. */
  readonly onLine: (number: number, line: ReadLine) => void
}

/** Splits text that arrives in chunks of bytes into lines, and holds only one line in memory. */
export interface LineReader {
  readonly take: (piece: Uint8Array) => void
  /** Call at the end of the text; its last line need not have a line ending. */
  readonly finish: () => void
  /** The number of complete lines. */
  readonly count: () => number
}

const feed = 10
const carriage = 13

export function createLineReader({ characters, isWanted, onLine }: LineReaderOptions): LineReader {
  // upper bound of bytes for that many characters
  const mostBytes = characters * 4
  let count = 0
  /** The kept bytes of the current line, and its full size. */
  let kept: Uint8Array[] = []
  let size = 0

  /** Copies the bytes, because the buffer of the chunk is reused for the next one. */
  function add(piece: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + mostBytes - size)
    if (end > from && isWanted(count + 1)) kept.push(Uint8Array.from(piece.subarray(from, end)))
    size += to - from
  }

  function end(): void {
    count += 1
    if (isWanted(count)) onLine(count, lineOf(Buffer.concat(kept), size, characters))
    kept = []
    size = 0
  }

  return {
    take(piece) {
      for (let from = 0; from < piece.length;) {
        const at = piece.indexOf(feed, from)
        if (at === -1) return add(piece, from, piece.length)
        add(piece, from, at)
        end()
        from = at + 1
      }
    },
    finish() {
      if (size > 0) end()
    },
    count: () => count,
  }
}

/** `kept`: the start of a line of `size` bytes. */
function lineOf(kept: Buffer, size: number, characters: number): ReadLine {
  const isWhole = kept.length === size
  const endsInCrLf = isWhole && kept.at(-1) === carriage
  const bytes = endsInCrLf ? kept.subarray(0, -1) : kept
  const text = bytes.toString('utf8')
  const shown = text.length <= characters && isWhole ? text : cutLine(text, { size, characters })
  // the kept part of a truncated line may end within a character
  return { text: shown, isCut: shown !== text, endsInCrLf, isUtf8: !isWhole || isUtf8(bytes) }
}

function cutLine(text: string, { size, characters }: { readonly size: number; readonly characters: number }): string {
  const code = text.charCodeAt(characters - 1)
  const end = code >= 0xd800 && code < 0xdc00 ? characters - 1 : characters
  return modelText`${text.slice(0, end)}… [cut: the line has ${size} bytes]`
}

/** Characters of a line that are shown. */
const mostLineCharacters = 2_000
/** Characters that a line number takes. */
const numberCharacters = 9

interface WindowOptions {
  /** The first line to keep, from 1. */
  readonly offset: number
  /** Lines to keep at most. */
  readonly limit: number
  /** Characters to keep at most; one line is always kept. */
  readonly characters: number
}

/** A range of lines of a text; only these lines are held in memory. */
interface LineWindow {
  /** Takes the next bytes. */
  readonly take: (piece: Uint8Array) => void
  /** Whether all wanted lines are collected; further input only counts lines. */
  readonly isFull: () => boolean
  /** Call at the end of the text, or when reading was stopped. */
  readonly finish: () => WindowLines
}

export interface WindowLines {
  readonly lines: readonly ReadLine[]
  /** The number of lines read, kept or not. */
  readonly count: number
  /** SHA-256 of the bytes read, if requested. */
  readonly hash: string
}

/** Keeps a range of lines of a text that arrives in chunks. `hashes`: also compute the hash of the text. */
export function createLineWindow(
  { offset, limit, characters }: WindowOptions,
  { hashes }: { readonly hashes: boolean },
): LineWindow {
  const hash = createHash('sha256')
  const lines: ReadLine[] = []
  let left = characters
  let isFull = false
  const reader = createLineReader({
    characters: mostLineCharacters,
    isWanted: (line) => line >= offset && !isFull,
    onLine(_, line) {
      const cost = line.text.length + numberCharacters
      isFull = lines.length > 0 && cost > left
      if (isFull) return
      lines.push(line)
      left -= cost
      isFull = lines.length >= limit
    },
  })
  return {
    take(piece) {
      if (hashes) hash.update(piece)
      reader.take(piece)
    },
    isFull: () => isFull,
    finish() {
      reader.finish()
      return { lines, count: reader.count(), hash: hash.digest('hex') }
    },
  }
}
