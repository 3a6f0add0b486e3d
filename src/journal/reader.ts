import { BatonError } from '../base/error.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import type { Reading } from './journal.ts'
import { readLines, type Line } from './lines.ts'
import { decodeLine, formatVersion, isKnownRecord, type JournalRecord, type UnknownRecord } from './record.ts'
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

type Damage = Extract<Reading, { readonly type: 'corrupt' }>

async function* readSegment({ file, epoch }: Segment, files: FilePort): AsyncGenerator<Reading> {
  let expected = 0
  let damage: Damage | undefined
  for await (const line of readLines(file, files)) {
    const record = decodeLine(line.bytes)
    if (record === undefined || record.e !== epoch || record.n < expected) {
      damage = widened(damage ?? damageAt(file, line, 'not as it was written'), line)
      continue
    }
    if (damage === undefined && record.n > expected) {
      damage = { ...damageAt(file, line, `records ${expected} to ${record.n - 1} are missing`), bytes: 0 }
    }
    if (damage !== undefined) yield damage
    damage = undefined
    expected = record.n + 1
    yield readingOf(record, file)
  }
}

function damageAt(file: string, { offset }: Line, reason: string): Damage {
  return { type: 'corrupt', file, offset, bytes: 0, reason }
}

function widened(damage: Damage, { offset, size }: Line): Damage {
  return { ...damage, bytes: offset + size - damage.offset }
}

function readingOf(record: JournalRecord | UnknownRecord, file: string): Reading {
  if (!isKnownRecord(record)) return { type: 'unknown', record }
  if (record.k === 'seg' && record.v > formatVersion) {
    throw new BatonError(
      'JOURNAL_FAILED',
      `${file} has format ${record.v}; this version reads up to ${formatVersion}`,
      {
        hint: 'It was written by a newer version of baton: use that one.',
        place: { file },
      },
    )
  }
  return { type: 'record', record }
}
