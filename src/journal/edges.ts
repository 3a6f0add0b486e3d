import type { FilePort } from './file-port.ts'
import { recordUnreadable } from './failure.ts'
import { openRecord } from './lines.ts'
import { decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { sealKind } from './signing.ts'
import { readAll } from './transfer.ts'

/** Headers and `run.end` records are far shorter, because large fields are blobs. */
const edgeBytes = 512 * 1024

/** The first and the last record of a file, ignoring signatures; undefined if they cannot be read. */
export interface Edges {
  readonly first: JournalRecord | undefined
  readonly last: JournalRecord | undefined
  /** Bytes up to the end of the last complete line. */
  readonly bytes: number
}

export async function edgesOf(file: string, files: FilePort): Promise<Edges> {
  const size = files.size(file) ?? 0
  const descriptor = openRecord(file, files)
  try {
    const part = async (position: number): Promise<Buffer> => {
      const target = Buffer.alloc(Math.min(size, edgeBytes))
      return target.subarray(0, await readAll(files, descriptor, { target, position }))
    }
    const from = Math.max(0, size - edgeBytes)
    const [start, end] = [await part(0), await part(from)]
    return {
      first: recordOf(start.subarray(0, Math.max(0, start.indexOf(10)))),
      last: lastRecord(end),
      bytes: from + end.lastIndexOf(10) + 1,
    }
  } catch (error) {
    throw recordUnreadable(file, error)
  } finally {
    files.close(descriptor)
  }
}

function lastRecord(bytes: Buffer): JournalRecord | undefined {
  const end = bytes.lastIndexOf(10)
  if (end <= 0) return undefined
  const start = bytes.lastIndexOf(10, end - 1) + 1
  const line = bytes.subarray(start, end)
  return decodeLine(line)?.k === sealKind ? lastRecord(bytes.subarray(0, start)) : recordOf(line)
}

function recordOf(line: Buffer): JournalRecord | undefined {
  const record = decodeLine(line)
  return record !== undefined && isKnownRecord(record) ? record : undefined
}
