import { join } from 'node:path'
import { journalFailure } from './failure.ts'
import { encodeFields, recordJson } from './fields.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { openFileRecords } from './file-records.ts'
import type { JournalStore, RunJournal } from './journal.ts'
import { processOwners, type OwnerPort } from './owner.ts'
import { refuseRun, refuseWhileOwned } from './ownership.ts'
import { createPendingSyncs } from './pending-syncs.ts'
import { readRun } from './reader.ts'
import { encodeLine, formatVersion } from './record.ts'
import { createRunJournal } from './run-journal.ts'
import { noMask, type SecretMask } from './secrets.ts'
import { claimEpoch, epochsIn, segmentFile } from './segment.ts'
import type { LineFile } from './tail.ts'

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

/** Runs as folders below `root`, each with one file per epoch and its blobs (spec/engines.md D1, D4). */
export function createFileStore(root: string, options: StoreOptions): JournalStore {
  const { mask = noMask, files = nodeFiles } = options
  return {
    open: (run) => openRun({ ...options, folder: join(root, run) }),
    read: (run) => readRun(join(root, run), files),
    records: (run) => openFileRecords(join(root, run), { mask, files }),
  }
}

/**
 * Becomes the writer of a run (spec/engines.md D1). A new run's folder and file are made with its first record, so a
 * run that records nothing leaves nothing; the next epoch of an existing one is won at once, durably.
 * @throws BatonError USAGE when its writer is alive and has not ended it, JOURNAL_FAILED when the folder fails
 */
export async function openRun(options: OpenRunOptions): Promise<RunJournal> {
  const { folder, now, mask = noMask, files = nodeFiles, owners = processOwners } = options
  const pending = createPendingSyncs(files)

  function claim(epoch: number, sync: 'durable' | 'lazy'): number | undefined {
    const fields = encodeFields({ k: 'seg', v: formatVersion, ...owners.self() }, { mask: mask.mask })
    const header = encodeLine(recordJson({ e: epoch, n: 0, t: now().getTime() }, fields))
    return claimEpoch({ epoch, header, sync }, { folder, files, pending })
  }

  function journalOf(epoch: number, file: LineFile): RunJournal {
    return createRunJournal({ folder, epoch, files, pending, mask, now, file })
  }

  try {
    for (;;) {
      const newest = epochsIn(folder, files).at(-1)
      if (newest === undefined) {
        return journalOf(1, { type: 'lazy', open: () => claim(1, 'lazy') ?? refuseRun(folder) })
      }
      await refuseWhileOwned(segmentFile(folder, newest), { folder, files, owners })
      const descriptor = claim(newest + 1, 'durable')
      if (descriptor !== undefined) return journalOf(newest + 1, { type: 'open', descriptor })
    }
  } catch (error) {
    throw journalFailure(folder, error)
  }
}
