/** What is kept of an output while it comes, however much that is. */
export interface OutputWindow {
  readonly add: (bytes: Buffer) => void
  /**
   * What came since the last time, which is then forgotten here. `isWhole: false`: more may come, so that the beginning of
   * a character is kept for the next time.
   */
  readonly take: (options?: { readonly isWhole: boolean }) => PrintedOutput
  /** Bytes that came since the last time. */
  readonly size: () => number
}

/** The beginning of an output and its end; `lost`: the bytes between them that are not kept. */
export interface PrintedOutput {
  readonly head: Buffer
  readonly tail: Buffer
  readonly lost: number
}

/** What is made plain text of is done in one go, so that it must not be much. */
const keptAtEachEnd = 256 * 1024

/** Keeps the first and the last 256 KB. Less memory than that is taken for less output. */
export function createOutputWindow(atEachEnd = keptAtEachEnd): OutputWindow {
  let head = createGrowing()
  let tail = createRing(atEachEnd)
  let size = 0

  return {
    add(bytes) {
      const first = bytes.subarray(0, Math.max(0, atEachEnd - size))
      head.add(first)
      tail.add(bytes.subarray(first.length))
      size += bytes.length
    },
    size: () => size,
    take({ isWhole } = { isWhole: true }) {
      const printed = { head: head.all(), tail: tail.all(), lost: Math.max(0, size - 2 * atEachEnd) }
      const last = size > atEachEnd ? 'tail' : 'head'
      const begun = isWhole ? 0 : begunCharacter(printed[last])
      const kept = printed[last].subarray(printed[last].length - begun)
      head = createGrowing()
      head.add(kept)
      tail = createRing(atEachEnd)
      size = begun
      return { ...printed, [last]: printed[last].subarray(0, printed[last].length - begun) }
    },
  }
}

/** The number of bytes at the end of UTF-8 that are the beginning of a character whose last bytes are missing. */
export function begunCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** Bytes that are copied together: a program that writes one at a time costs no more than another. */
function createGrowing() {
  let held = Buffer.alloc(0)
  let used = 0
  return {
    add(bytes: Buffer): void {
      if (used + bytes.length > held.length) {
        const larger = Buffer.alloc(Math.max(4096, 2 * (used + bytes.length)))
        held.copy(larger, 0, 0, used)
        held = larger
      }
      bytes.copy(held, used)
      used += bytes.length
    },
    all: () => held.subarray(0, used),
  }
}

/** The last bytes of those that are added. */
function createRing(capacity: number) {
  let held: Buffer | undefined
  let count = 0
  return {
    add(given: Buffer): void {
      if (given.length === 0) return
      held ??= Buffer.alloc(capacity)
      const bytes = given.subarray(Math.max(0, given.length - capacity))
      const at = (count + given.length - bytes.length) % capacity
      const fits = bytes.copy(held, at)
      bytes.copy(held, 0, fits)
      count += given.length
    },
    all(): Buffer {
      if (held === undefined || count <= capacity) return held?.subarray(0, count) ?? Buffer.alloc(0)
      const start = count % capacity
      return Buffer.concat([held.subarray(start), held.subarray(0, start)])
    },
  }
}
