/** What is kept of an output while it comes, however much that is. */
export interface OutputWindow {
  readonly add: (bytes: Buffer) => void
  /** What came since the last time, which is then forgotten here. */
  readonly take: () => PrintedOutput
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
    take() {
      const printed = { head: head.all(), tail: tail.all(), lost: Math.max(0, size - 2 * atEachEnd) }
      head = createGrowing()
      tail = createRing(atEachEnd)
      size = 0
      return printed
    },
  }
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
