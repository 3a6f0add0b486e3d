export interface LineReader {
  readonly add: (chunk: Buffer) => void
}

/**
 * Splits a byte stream into lines of UTF-8, without line endings. A line longer than `maxBytes` is dropped: `onTooLong`
 * is called once, and nothing more is read.
 */
export function createLineReader({
  maxBytes,
  onLine,
  onTooLong,
}: {
  readonly maxBytes: number
  readonly onLine: (line: string, bytes: number) => void
  readonly onTooLong: () => void
}): LineReader {
  let begun: Buffer[] = []
  let bytes = 0
  let isOver = false

  function end(): void {
    isOver = true
    begun = []
    onTooLong()
  }

  return {
    add(chunk) {
      for (let start = 0; !isOver;) {
        const newline = chunk.indexOf(0x0a, start)
        const piece = chunk.subarray(start, newline === -1 ? chunk.length : newline)
        bytes += piece.length
        if (bytes > maxBytes) return end()
        if (newline === -1) return void begun.push(piece)
        const line = begun.length === 0 ? piece : Buffer.concat([...begun, piece])
        const size = bytes
        begun = []
        bytes = 0
        start = newline + 1
        onLine(line.toString('utf8').replace(/\r$/, ''), size)
      }
    },
  }
}
