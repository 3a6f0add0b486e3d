import { isBlobReference, readBlobNow } from './blobs.ts'
import { createDamageLog } from './damage.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { readHead } from './head.ts'
import { lineAt } from './line-at.ts'
import { readLineBatches } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import type { Damage, RecordSource } from './run-index.ts'
import type { SecretMask } from './secrets.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { decodeValue } from './value.ts'
import { BatonError } from '../base/error.ts'

/** One epoch's file has at most this many bytes. */
const epochSpan = 2 ** 40

export interface FileRecordsOptions {
  readonly mask: SecretMask
  /** Only epochs before this one. */
  readonly before?: number
  readonly files?: FilePort
}

/** The records of a run folder. Holds the files open until it is closed. */
export function openFileRecords(
  folder: string,
  { mask, before = Infinity, files = nodeFiles }: FileRecordsOptions,
): RecordSource {
  const epochs = epochsIn(folder, files).filter((epoch) => epoch < before)
  const descriptors = new Map<number, number>()

  function descriptorOf(epoch: number): number {
    const known = descriptors.get(epoch)
    if (known !== undefined) return known
    const descriptor = files.openToRead(segmentFile(folder, epoch))
    descriptors.set(epoch, descriptor)
    return descriptor
  }

  return {
    async scan(visit) {
      const damages: Damage[] = []
      for (const epoch of epochs) {
        const isLast = epoch === epochs.at(-1)
        const file = segmentFile(folder, epoch)
        const log = createDamageLog(file, epoch)
        for await (const lines of readLineBatches(file, files)) {
          for (const line of lines) {
            const head = readHead(line.bytes)
            const { isGood, damage } = log.next(line, head)
            if (damage !== undefined) damages.push(damage)
            if (head === undefined || !isGood) continue
            if (head.k === 'seg') assertReadable(line.bytes, file)
            visit(head, epoch * epochSpan + line.offset, isLast)
          }
        }
      }
      return damages
    },
    at(location) {
      const epoch = Math.floor(location / epochSpan)
      const record = decodeLine(lineAt(descriptorOf(epoch), location % epochSpan, files))
      if (record === undefined || !isKnownRecord(record)) throw changed(segmentFile(folder, epoch))
      return record satisfies JournalRecord
    },
    value(field) {
      if (field === undefined) return undefined
      return decodeValue(isBlobReference(field) ? readBlobNow(folder, field, files) : field, mask.unmask)
    },
    close() {
      for (const descriptor of descriptors.values()) files.close(descriptor)
      descriptors.clear()
    },
  }
}

function changed(file: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} was changed while it was read`, { place: { file } })
}
