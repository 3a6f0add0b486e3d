/** A long text that is written from its beginning to its end. */
export interface TextBuffer {
  readonly add: (text: string) => void
  /** The whole text. It ends the buffer. */
  readonly text: () => string
}

/**
 * Collects a text of many parts as UTF-8 outside of the heap: a list of strings that is joined would live twice, and
 * each part long enough to be moved. The parts hold whole characters.
 * @param bytes about how many there will be; more are taken
 */
export function createTextBuffer(bytes: number): TextBuffer {
  let buffer = Buffer.allocUnsafeSlow(bytes)
  let filled = 0

  function reserve(more: number): void {
    if (filled + more <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.ceil((filled + more) * 1.5))
    buffer.copy(larger, 0, 0, filled)
    buffer = larger
  }

  return {
    add(text) {
      // most texts fit whatever they take, and need not be measured
      if (filled + text.length * 3 > buffer.length) reserve(Buffer.byteLength(text))
      filled += buffer.write(text, filled)
    },
    text() {
      const text = buffer.toString('utf8', 0, filled)
      buffer = Buffer.alloc(0)
      return text
    },
  }
}
