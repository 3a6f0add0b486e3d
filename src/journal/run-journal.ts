import { encodeFields, recordJson } from './fields.ts'
import { createBlobWriter, type BlobReference } from './blobs.ts'
import type { FilePort } from './file-port.ts'
import type { RunJournal } from './journal.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import { encodeLine, type Entry } from './record.ts'
import type { SecretMask } from './secrets.ts'
import { segmentFile } from './segment.ts'
import type { LineFile } from './tail.ts'
import { createLineWriter } from './writer.ts'

export interface RunJournalOptions {
  readonly folder: string
  readonly epoch: number
  readonly files: FilePort
  readonly pending: PendingSyncs
  readonly mask: SecretMask
  readonly now: () => Date
  /** The epoch's file, whose header is record 0. */
  readonly file: LineFile
}

/** Numbers, masks and encodes records and puts them into the file of one epoch. */
export function createRunJournal(options: RunJournalOptions): RunJournal {
  const { folder, epoch, files, pending, mask, now, file } = options
  const writer = createLineWriter({ folder, files, pending, file })
  const writeBlob = createBlobWriter(folder, files, pending)
  let next = 1

  /** The number is taken only once nothing can fail any more: numbers have no gaps. */
  function take(entry: Entry): { readonly number: number; readonly line: string } {
    const fields = encodeFields(entry, { mask: mask.mask, writeBlob: blobOrFailure })
    const number = next++
    return { number, line: encodeLine(recordJson({ e: epoch, n: number, t: now().getTime() }, fields)) }
  }

  function blobOrFailure(json: string): BlobReference {
    writer.failure.throwIfAborted()
    try {
      return writeBlob(json)
    } catch (error) {
      throw writer.fail(error)
    }
  }

  return {
    epoch,
    mask,
    failure: writer.failure,
    note(entry) {
      const { number, line } = take(entry)
      writer.note(line)
      return number
    },
    async append(entry) {
      const { number, line } = take(entry)
      await writer.append(line)
      return number
    },
    push: writer.push,
    flush: writer.flush,
    async fenced() {
      try {
        return files.size(segmentFile(folder, epoch + 1)) !== undefined
      } catch (error) {
        throw writer.fail(error)
      }
    },
    close: writer.close,
  }
}
