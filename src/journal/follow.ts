import { nodeFiles, type FilePort } from './file-port.ts'
import { wholeLines } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { epochsIn, segmentFile } from './segment.ts'
import type { Location } from './tree.ts'

/**
 * How far the records of a run have been read: a byte position in the file of an epoch. Later positions are larger
 * numbers, and every process that reads the same files gets the same numbers.
 */
export type Position = number

/** Upper limit for the bytes of one epoch's file. */
const epochSpan = 2 ** 40

/** Before the first record. */
export const beginning: Position = 0

/** `2.17344`: epoch and byte. */
export function positionText(position: Position): string {
  return `${Math.floor(position / epochSpan)}.${position % epochSpan}`
}

/** Undefined for a text that `positionText` does not write. */
export function parsePosition(text: string): Position | undefined {
  const [, epoch = '', offset = ''] = /^(\d{1,4})\.(\d{1,13})$/.exec(text) ?? []
  const position = Number(epoch) * epochSpan + Number(offset)
  return epoch === '' || Number(offset) >= epochSpan || !Number.isSafeInteger(position) ? undefined : position
}

type Visit = (record: JournalRecord, position: Position, location: Location) => void

/** Reads a run folder repeatedly while other processes write to it. */
export interface JournalFollower {
  /**
   * Visits the records that were added since the last call, each with the position after it and its location. Calls must
   * not overlap.
   */
  readonly read: (visit: Visit) => Promise<void>
  /** The position after the last line that was read. */
  readonly position: () => Position
}

const defaultBytes = 256 * 1024
/** No record is longer, because large values are blobs. */
const mostBytes = 32 * 1024 * 1024

/**
 * Follows the records of a run folder. Only new bytes are read, an incomplete line is read once it is complete, and
 * damaged lines are skipped.
 * @throws BatonError JOURNAL_FAILED, from `read`, if a newer version wrote the run
 */
export function followJournal(folder: string, files: FilePort = nodeFiles): JournalFollower {
  let epoch = 0
  let offset = 0

  async function readEpoch(visit: Visit): Promise<void> {
    const file = segmentFile(folder, epoch)
    if ((files.size(file) ?? 0) <= offset) return
    const descriptor = files.openToRead(file)
    try {
      for (let size = defaultBytes; ;) {
        const chunk = Buffer.allocUnsafe(size)
        const text = chunk.subarray(0, await files.read(descriptor, chunk, offset))
        const lines = wholeLines(text)
        for (const line of lines) {
          const record = decodeLine(line.bytes)
          if (record === undefined || record.e !== epoch || !isKnownRecord(record)) continue
          assertReadable(record, file)
          const location = epoch * epochSpan + offset + line.offset
          visit(record, location + line.size, location)
        }
        const last = lines.at(-1)
        if (last !== undefined) offset += last.offset + last.size
        else if (text.length < size || size > mostBytes) return
        else size *= 4
      }
    } finally {
      files.close(descriptor)
    }
  }

  return {
    async read(visit) {
      for (;;) {
        // the process that started a later epoch has seen the end of this one
        const next = epochsIn(folder, files).find((one) => one > epoch)
        if (epoch > 0) await readEpoch(visit)
        if (next === undefined) return
        epoch = next
        offset = 0
      }
    },
    position: () => epoch * epochSpan + offset,
  }
}
