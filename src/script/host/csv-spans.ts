const quote = 34
const lineFeed = 10
const carriageReturn = 13

/** Takes bytes piece by piece, and tells the rows that are in them. */
export interface RowSpans {
  take(piece: Uint8Array): void
  /** Start and end of each row in bytes, to be asked for at the end. */
  end(): readonly (readonly [number, number])[]
}

/**
 * The rows of CSV without their line ends (spec/aipack.md 6.2). A line feed ends a row unless it is inside quotes, a
 * carriage return before it belongs to the line end; lines without any character are rows too.
 */
export function createRowSpans(): RowSpans {
  const spans: [number, number][] = []
  let position = 0
  let start = 0
  let isQuoted = false
  let previous = 0
  return {
    take(piece) {
      for (const byte of piece) {
        // a doubled quote leaves and enters again
        if (byte === quote) isQuoted = !isQuoted
        else if (byte === lineFeed && !isQuoted) {
          spans.push([start, previous === carriageReturn ? position - 1 : position])
          start = position + 1
        }
        previous = byte
        position++
      }
    },
    end: () => (start < position ? [...spans, [start, position]] : spans),
  }
}
