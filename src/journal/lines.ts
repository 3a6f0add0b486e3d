import type { FilePort } from './file-port.ts'

/**
 * One line of a file without its line feed; `offset` and `size` are bytes, `size` counts the line feed. `bytes` are
 * valid until the next line is asked for.
 */
export interface Line {
  readonly bytes: Buffer
  readonly offset: number
  readonly size: number
}

const chunkBytes = 256 * 1024
/** No record is longer, because large values are blobs; a longer stretch without a line feed is damage. */
const maxLineBytes = 16 * 1024 * 1024

/**
 * The lines of a file, never more than one line and one chunk in memory. Of a line over 16 MB only the beginning is
 * given. The last line may lack its line feed.
 */
export async function* readLines(file: string, files: FilePort): AsyncGenerator<Line> {
  const descriptor = files.openToRead(file)
  try {
    let open: Buffer[] = []
    let offset = 0
    let size = 0
    const chunk = Buffer.allocUnsafe(chunkBytes)
    for (let position = 0; ;) {
      const count = await files.read(descriptor, chunk, position)
      if (count === 0) break
      position += count
      for (let start = 0; start < count;) {
        const feed = chunk.indexOf(10, start)
        const end = feed === -1 || feed >= count ? count : feed
        if (size < maxLineBytes) open.push(chunk.subarray(start, end))
        size += end - start
        start = end
        if (end === count) break
        yield { bytes: joined(open), offset, size: size + 1 }
        open = []
        offset += size + 1
        size = 0
        start += 1
      }
    }
    if (size > 0) yield { bytes: joined(open), offset, size }
  } finally {
    files.close(descriptor)
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
