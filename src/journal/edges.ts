import type { FilePort } from './file-port.ts'
import { decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { readAll } from './transfer.ts'

/** Headers and `run.end` records are far shorter, because large fields are blobs. */
const edgeBytes = 512 * 1024

/** The first and the last record of a file, undefined when they cannot be read. */
export interface Edges {
  readonly first: JournalRecord | undefined
  readonly last: JournalRecord | undefined
  /** Bytes up to the end of the last whole line. */
  readonly bytes: number
}

export async function edgesOf(file: string, files: FilePort): Promise<Edges> {
  const size = files.size(file) ?? 0
  const descriptor = files.openToRead(file)
  try {
    const part = async (position: number): Promise<Buffer> => {
      const target = Buffer.alloc(Math.min(size, edgeBytes))
      return target.subarray(0, await readAll(files, descriptor, { target, position }))
    }
    const from = Math.max(0, size - edgeBytes)
    const [start, end] = [await part(0), await part(from)]
    return {
      first: recordOf(start.subarray(0, Math.max(0, start.indexOf(10)))),
      last: recordOf(lastLine(end)),
      bytes: from + end.lastIndexOf(10) + 1,
    }
  } finally {
    files.close(descriptor)
  }
}

function lastLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(10)
  return end <= 0 ? Buffer.alloc(0) : bytes.subarray(bytes.lastIndexOf(10, end - 1) + 1, end)
}

function recordOf(line: Buffer): JournalRecord | undefined {
  const record = decodeLine(line)
  return record !== undefined && isKnownRecord(record) ? record : undefined
}
