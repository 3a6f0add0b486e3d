import { recordUnreadable } from './failure.ts'
import type { FilePort } from './file-port.ts'

/**
 * One line of a file without its line feed; `offset` and `size` are in bytes, and `size` includes the line feed.
 * `bytes` are valid until the next line is requested.
 */
export interface Line {
  readonly bytes: Buffer
  readonly offset: number
  readonly size: number
}

const lineFeed = 10
const chunkBytes = 256 * 1024
/** No record is longer, because large values are blobs; a longer stretch without a line feed is damage. */
const maxLineBytes = 16 * 1024 * 1024

/**
 * Opens the file of a record.
 * @throws BatonError FILE_FAILED naming the file; the system error if it does not exist
 */
export function openRecord(file: string, files: FilePort): number {
  try {
    return files.openToRead(file)
  } catch (error) {
    throw recordUnreadable(file, error)
  }
}

/** The lines of a file one by one; see `readLineBatches`. */
export async function* readLines(file: string, files: FilePort): AsyncGenerator<Line> {
  for await (const lines of readLineBatches(file, files)) yield* lines
}

/**
 * The lines of a file, one chunk at a time: never more than one line and one chunk in memory. Only the beginning of a
 * line over 16 MB is returned. The last line may lack its line feed. Use a batch before requesting the next one.
 */
export async function* readLineBatches(file: string, files: FilePort): AsyncGenerator<readonly Line[]> {
  const descriptor = openRecord(file, files)
  try {
    // a chat reads the records of all its messages, which are small
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, files.size(file) ?? chunkBytes)))
    let offset = 0
    let begun: Buffer[] = []
    let begunSize = 0
    for (let position = 0; ;) {
      const count = await files.read(descriptor, chunk, position)
      if (count === 0) break
      position += count
      const part = chunk.subarray(0, count)
      const lines: Line[] = []
      let start = 0
      for (let end = part.indexOf(lineFeed); end !== -1; end = part.indexOf(lineFeed, start)) {
        const size = begunSize + end + 1 - start
        lines.push({ bytes: joined(begun, part.subarray(start, end)), offset, size })
        offset += size
        begun = []
        begunSize = 0
        start = end + 1
      }
      yield lines
      // the chunk buffer is reused, so the start of the next line is copied
      if (start < count && begunSize < maxLineBytes) begun.push(Buffer.from(part.subarray(start)))
      begunSize += count - start
    }
    if (begunSize > 0) yield [{ bytes: joined(begun), offset, size: begunSize }]
  } catch (error) {
    throw recordUnreadable(file, error)
  } finally {
    files.close(descriptor)
  }
}

/** The complete lines of a text; an incomplete last line is dropped. */
export function wholeLines(text: Buffer): readonly Line[] {
  const lines: Line[] = []
  for (let start = 0, end = text.indexOf(lineFeed); end !== -1; start = end + 1, end = text.indexOf(lineFeed, start)) {
    lines.push({ bytes: text.subarray(start, end), offset: start, size: end + 1 - start })
  }
  return lines
}

function joined(begun: readonly Buffer[], rest: Buffer = Buffer.alloc(0)): Buffer {
  return begun.length === 0 ? rest : Buffer.concat([...begun, rest])
}

/** Most records are shorter, so one read is enough. */
const defaultBytes = 4096

/** The line that starts at a byte of a file, without its line feed. Synchronous, because observations are. */
export function lineAt(descriptor: number, position: number, files: FilePort): Buffer {
  for (let size = defaultBytes; ; size *= 4) {
    const target = Buffer.allocUnsafe(size)
    const count = files.readNow(descriptor, target, position)
    const end = target.subarray(0, count).indexOf(10)
    if (end !== -1) return target.subarray(0, end)
    if (count < size) return target.subarray(0, count)
  }
}

/** Most lines near to each other are within it. */
const blockBytes = 16 * 1024

/**
 * Reads single lines of a file, as `lineAt` does; lines that follow the last one are often in what was read with it. A
 * line is valid until the next one is read.
 */
export function createLineReader(descriptor: number, files: FilePort): (position: number) => Buffer {
  let block = Buffer.alloc(0)
  let start = 0
  return (position) => {
    const known = block.subarray(Math.max(0, position - start))
    const end = position < start ? -1 : known.indexOf(lineFeed)
    if (end !== -1) return known.subarray(0, end)
    const target = block.length === blockBytes ? block : Buffer.allocUnsafe(blockBytes)
    block = target.subarray(0, files.readNow(descriptor, target, position))
    start = position
    const size = block.indexOf(lineFeed)
    return size === -1 ? lineAt(descriptor, position, files) : block.subarray(0, size)
  }
}
