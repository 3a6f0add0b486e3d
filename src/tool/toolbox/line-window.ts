import { isUtf8 } from 'node:buffer'
import { createHash } from '../../base/hash.ts'

/** Bytes of a line that are kept: enough for the characters that are shown. */
const mostLineBytes = 8 * 1024
/** Characters of a line that are shown. */
const mostLineCharacters = 2_000
/** Characters that the number of a line takes. */
const numberCharacters = 9

export interface WindowOptions {
  /** The first line to keep, from 1. */
  readonly offset: number
  /** Lines to keep at most. */
  readonly limit: number
  /** Characters to keep at most; one line is always kept. */
  readonly characters: number
}

/** Some lines of a text, of which only they are held in memory. */
export interface LineWindow {
  /** Takes the next bytes. */
  readonly take: (piece: Uint8Array) => void
  /** All that is wanted is there: what follows only counts lines. */
  readonly isFull: () => boolean
  /** To be called at the end of the text, or where it was stopped. */
  readonly finish: () => WindowLines
}

export interface WindowLines {
  readonly lines: readonly WindowLine[]
  /** Lines that were passed, whether they were kept or not. */
  readonly count: number
  /** SHA-256 of the bytes that were passed. */
  readonly hash: string
  readonly endsInCrLf: boolean
  /** Everything that was kept is UTF-8. */
  readonly isUtf8: boolean
}

export interface WindowLine {
  readonly text: string
  readonly isCut: boolean
}

const feed = 10
const carriage = 13

/** Keeps some lines of a text that comes in pieces. `hashes`: the hash of the text is asked for as well. */
export function createLineWindow(
  { offset, limit, characters }: WindowOptions,
  { hashes }: { readonly hashes: boolean },
): LineWindow {
  const hash = createHash('sha256')
  const lines: WindowLine[] = []
  let left = characters
  let isFull = false
  let isValid = true
  let endsInCrLf = false
  /** Lines that have ended. */
  let count = 0
  /** Of the line that has begun: its bytes that are kept, and how many it has. */
  let kept: Uint8Array[] = []
  let size = 0

  const isWanted = (): boolean => !isFull && count + 1 >= offset

  /** A copy: the piece is overwritten by the next one. */
  function add(piece: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + mostLineBytes - size)
    if (end > from && isWanted()) kept.push(Uint8Array.from(piece.subarray(from, end)))
    size += to - from
  }

  function end(): void {
    if (isWanted()) keep()
    count += 1
    kept = []
    size = 0
  }

  function keep(): void {
    const whole = Buffer.concat(kept)
    const isCrLf = size === whole.length && whole.at(-1) === carriage
    endsInCrLf ||= isCrLf
    const bytes = isCrLf ? whole.subarray(0, -1) : whole
    const isLong = size > whole.length
    if (!isLong) isValid &&= isUtf8(bytes)
    const text = bytes.toString('utf8')
    const shown = cutLine(text, size)
    const line = { text: shown, isCut: isLong || shown !== text }
    const cost = line.text.length + numberCharacters
    if (lines.length > 0 && cost > left) {
      isFull = true
      return
    }
    lines.push(line)
    left -= cost
    isFull = lines.length >= limit
  }

  return {
    take(piece) {
      if (hashes) hash.update(piece)
      for (let from = 0; from < piece.length;) {
        const at = piece.indexOf(feed, from)
        if (at === -1) return add(piece, from, piece.length)
        add(piece, from, at)
        end()
        from = at + 1
      }
    },
    isFull: () => isFull,
    finish() {
      if (size > 0) end()
      return { lines, count, hash: hash.digest('hex'), endsInCrLf, isUtf8: isValid }
    },
  }
}

/** The beginning of a line, never half of a character; what is left out is said. `bytes`: how long the whole line is. */
function cutLine(text: string, bytes: number): string {
  if (text.length <= mostLineCharacters) return text
  const code = text.charCodeAt(mostLineCharacters - 1)
  const end = code >= 0xd800 && code < 0xdc00 ? mostLineCharacters - 1 : mostLineCharacters
  return `${text.slice(0, end)}… [cut: the line has ${bytes} bytes]`
}
