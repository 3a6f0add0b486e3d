import { createHash } from '../../base/hash.ts'
import { createLineReader, type ReadLine } from './line-reader.ts'

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
