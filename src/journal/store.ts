import { join } from 'node:path'
import { type BlobReference, createBlobWriter } from './blobs.ts'
import { journalFailure } from './failure.ts'
import { encodeFields, recordJson } from './fields.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { openFileRecords, readRun } from './source.ts'
import type { JournalStore, RunJournal } from './journal.ts'
import { processOwners, type OwnerPort } from './owner.ts'
import { refuseRun, refuseWhileOwned } from './ownership.ts'
import { createPendingSyncs, type PendingSyncs } from './pending-syncs.ts'
import { encodeLine, type Entry, formatVersion } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'
import { claimEpoch, epochsIn, segmentFile } from './segment.ts'
import type { LineFile } from './tail.ts'
import { createLineWriter } from './writer.ts'

export interface StoreOptions {
  readonly now: () => Date
  readonly mask?: SecretMask
  readonly files?: FilePort
  readonly owners?: OwnerPort
}

export interface OpenRunOptions extends StoreOptions {
  /** The run folder; see `runsFolder`. */
  readonly folder: string
}

/** Runs as folders below `root`, each with one file per epoch and its blobs. */
export function createFileStore(root: string, options: StoreOptions): JournalStore {
  const { mask = noMask, files = nodeFiles } = options
  return {
    open: (run) => openRun({ ...options, folder: join(root, run) }),
    read: (run) => readRun(join(root, run), files),
    records: (run) => openFileRecords(join(root, run), { mask, files }),
  }
}

/**
 * Becomes the writer of a run. A new run's folder and file are made with its first record, so a
 * run that records nothing leaves nothing; the next epoch of an existing one is won at once, durably.
 * @throws BatonError USAGE when its writer is alive and has not ended it, JOURNAL_FAILED when the folder fails
 */
export async function openRun(options: OpenRunOptions): Promise<RunJournal> {
  const { folder, now, mask = noMask, files = nodeFiles, owners = processOwners } = options
  const pending = createPendingSyncs(files)
  const writing: Writing = { folder, files, pending, mask, now }

  function claim(epoch: number, sync: 'durable' | 'lazy'): number | undefined {
    const fields = encodeFields({ k: 'seg', v: formatVersion, ...owners.self() }, { mask: mask.mask })
    const header = encodeLine(recordJson({ e: epoch, n: 0, t: now().getTime() }, fields))
    return claimEpoch({ epoch, header, sync }, { folder, files, pending })
  }

  try {
    for (;;) {
      const newest = epochsIn(folder, files).at(-1)
      if (newest === undefined) {
        return createRunJournal(1, { type: 'lazy', open: () => claim(1, 'lazy') ?? refuseRun(folder) }, writing)
      }
      await refuseWhileOwned(segmentFile(folder, newest), { folder, files, owners })
      const descriptor = claim(newest + 1, 'durable')
      if (descriptor !== undefined) return createRunJournal(newest + 1, { type: 'open', descriptor }, writing)
    }
  } catch (error) {
    throw journalFailure(folder, error)
  }
}

/** What the writer of a run works with. */
interface Writing {
  readonly folder: string
  readonly files: FilePort
  readonly pending: PendingSyncs
  readonly mask: SecretMask
  readonly now: () => Date
}

/** Numbers, masks and encodes records and puts them into the file of one epoch. */
function createRunJournal(epoch: number, file: LineFile, { folder, files, pending, mask, now }: Writing): RunJournal {
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
