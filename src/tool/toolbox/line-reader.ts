import { isUtf8 } from 'node:buffer'

/** A line that is shown: without its end, and not all of it when it is long. */
export interface ReadLine {
  readonly text: string
  readonly isCut: boolean
  readonly endsInCrLf: boolean
  readonly isUtf8: boolean
}

interface LineReaderOptions {
  /** Characters of a line that are shown. */
  readonly characters: number
  /** Asked for the number of each line, from 1, as it begins and ends. */
  readonly isWanted: (line: number) => boolean
  /** Called for each line that is wanted. */
  readonly onLine: (number: number, line: ReadLine) => void
}

/** Takes text that comes in pieces of bytes apart into lines, of which only one is held in memory. */
export interface LineReader {
  readonly take: (piece: Uint8Array) => void
  /** To be called at the end of the text: its last line need not end. */
  readonly finish: () => void
  /** Lines that have ended. */
  readonly count: () => number
}

const feed = 10
const carriage = 13

export function createLineReader({ characters, isWanted, onLine }: LineReaderOptions): LineReader {
  // as many bytes as the characters can have
  const mostBytes = characters * 4
  let count = 0
  /** Of the line that has begun: its bytes that are kept, and how many it has. */
  let kept: Uint8Array[] = []
  let size = 0

  /** A copy: the piece is overwritten by the next one. */
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

/** `kept`: the beginning of a line of `size` bytes. */
function lineOf(kept: Buffer, size: number, characters: number): ReadLine {
  const isWhole = kept.length === size
  const endsInCrLf = isWhole && kept.at(-1) === carriage
  const bytes = endsInCrLf ? kept.subarray(0, -1) : kept
  const text = bytes.toString('utf8')
  const shown = text.length <= characters && isWhole ? text : cutLine(text, { size, characters })
  // of a line that is cut the end of what is kept may be half of a character
  return { text: shown, isCut: shown !== text, endsInCrLf, isUtf8: !isWhole || isUtf8(bytes) }
}

function cutLine(text: string, { size, characters }: { readonly size: number; readonly characters: number }): string {
  const code = text.charCodeAt(characters - 1)
  const end = code >= 0xd800 && code < 0xdc00 ? characters - 1 : characters
  return `${text.slice(0, end)}… [cut: the line has ${size} bytes]`
}
