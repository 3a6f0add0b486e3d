import { createDamageLog } from './damage.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import type { Reading } from './journal.ts'
import { readLines } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord } from './record.ts'
import { epochsIn, segmentFile } from './segment.ts'

/**
 * All records of a run folder, epoch by epoch, as a stream (spec/engines.md D2 rules 5 and 6). A damaged end of a
 * file is a torn write, never acknowledged, and dropped; damage with good records behind it is reported.
 * @throws BatonError JOURNAL_FAILED when a file was written by a newer version in a format this one cannot read
 */
export async function* readRun(folder: string, files: FilePort = nodeFiles): AsyncGenerator<Reading> {
  for (const epoch of epochsIn(folder, files)) {
    yield* readSegment({ file: segmentFile(folder, epoch), epoch }, files)
  }
}

interface Segment {
  readonly file: string
  readonly epoch: number
}

async function* readSegment({ file, epoch }: Segment, files: FilePort): AsyncGenerator<Reading> {
  const log = createDamageLog(file, epoch)
  for await (const line of readLines(file, files)) {
    const record = decodeLine(line.bytes)
    const { isGood, damage } = log.next(line, record)
    if (damage !== undefined) yield { type: 'corrupt', ...damage }
    if (record === undefined || !isGood) continue
    if (!isKnownRecord(record)) {
      yield { type: 'unknown', record }
      continue
    }
    if (record.k === 'seg') assertReadable(line.bytes, file)
    yield { type: 'record', record }
  }
}
