/** A long text that is written from start to end. */
export interface TextBuffer {
  readonly add: (text: string) => void
  /** The whole text. The buffer cannot be used afterwards. */
  readonly text: () => string
}

/**
 * Collects a text of many parts as UTF-8 outside the heap: a joined list of strings would exist twice, and each part
 * that is long enough would be moved. Parts contain whole characters.
 * @param bytes estimated size; the buffer grows beyond it
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
      // most texts fit at any character width, and need not be measured
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
