import type { JournalStore, Reading, RunJournal } from './journal.ts'
import { createMemoryJournal } from './memory.ts'
import { openMemoryRecords } from './memory-records.ts'
import { processOwners, type OwnerPort } from './owner.ts'
import { refuseRun } from './ownership.ts'
import { formatVersion, isKnownRecord, type JournalRecord } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'

export interface MemoryStoreOptions {
  readonly now: () => Date
  readonly mask?: SecretMask
  readonly owners?: OwnerPort
}

interface MemoryRun {
  readonly records: JournalRecord[]
  newestEpoch: number
}

/** Runs that live as long as this object: for the library without a folder, and for tests. */
export function createMemoryStore({ now, mask = noMask, owners = processOwners }: MemoryStoreOptions): JournalStore {
  const runs = new Map<string, MemoryRun>()

  async function open(run: string): Promise<RunJournal> {
    const kept = runs.get(run) ?? { records: [], newestEpoch: 0 }
    runs.set(run, kept)
    const { records } = kept
    await refuseWhileOwned(run, records)
    const epoch = kept.newestEpoch + 1
    const claim = (): void => {
      if (kept.newestEpoch >= epoch) refuseRun(run)
      kept.newestEpoch = epoch
      records.push({ e: epoch, n: 0, t: now().getTime(), k: 'seg', v: formatVersion, ...owners.self() })
    }
    if (epoch > 1) claim()
    return createMemoryJournal({
      now,
      mask,
      epoch,
      ...(epoch === 1 && { begin: claim }),
      keep: (record) => records.push(record),
      isFenced: () => kept.newestEpoch > epoch,
    })
  }

  async function refuseWhileOwned(run: string, records: readonly JournalRecord[]): Promise<void> {
    const header = records.findLast((record) => record.k === 'seg')
    if (header?.k !== 'seg' || records.at(-1)?.k === 'run.end') return
    if (await owners.isAlive(header)) refuseRun(run, header)
  }

  async function* read(run: string): AsyncGenerator<Reading> {
    // a fenced writer may still add to its own epoch, so order is made here
    const records = (runs.get(run)?.records ?? []).toSorted((left, right) => left.e - right.e || left.n - right.n)
    for (const record of records) yield isKnownRecord(record) ? { type: 'record', record } : { type: 'unknown', record }
  }

  return { open, read, records: (run) => openMemoryRecords(runs.get(run)?.records ?? [], mask) }
}
