/** A bounded window on an output of any size, filled as it arrives. */
export interface OutputWindow {
  readonly add: (bytes: Buffer) => void
  /**
   * Removes and returns what has arrived since the last call. `isWhole: false`: more may follow, so the start of an
   * incomplete character is kept for the next call.
   */
  readonly take: (options?: { readonly isWhole: boolean }) => PrintedOutput
  /** Bytes received since the last `take`. */
  readonly size: () => number
}

/** The start and the end of an output; `lost` is the number of bytes between them that were dropped. */
export interface PrintedOutput {
  readonly head: Buffer
  readonly tail: Buffer
  readonly lost: number
}

/** Small, because converting it to plain text is one synchronous step. */
const keptAtEachEnd = 256 * 1024

/** Keeps the first and the last 256 KB. Shorter output takes less memory. */
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

/** The number of bytes at the end of the UTF-8 text that belong to an incomplete character. */
export function begunCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** A growing buffer: writes of single bytes cost no more than large ones. */
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

/** Keeps the last bytes added. */
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
