import type { JournalStore, Reading, RunJournal } from './journal.ts'
import { createMemoryJournal } from './memory.ts'
import { processOwners, type OwnerPort } from './owner.ts'
import { refuseRun } from './ownership.ts'
import { formatVersion, isKnownRecord, type JournalRecord } from './record.ts'
import type { SecretMask } from './secrets.ts'

export interface MemoryStoreOptions {
  readonly now: () => Date
  readonly mask?: SecretMask
  readonly owners?: OwnerPort
}

/** Runs that live as long as this object: for the library without a folder, and for tests. */
export function createMemoryStore({ now, mask, owners = processOwners }: MemoryStoreOptions): JournalStore {
  const runs = new Map<string, JournalRecord[]>()

  async function open(run: string): Promise<RunJournal> {
    const records = runs.get(run) ?? []
    runs.set(run, records)
    await refuseWhileOwned(run, records)
    const epoch = newestEpoch(records) + 1
    const claim = (): void => {
      if (newestEpoch(records) >= epoch) refuseRun(run)
      records.push({ e: epoch, n: 0, t: now().getTime(), k: 'seg', v: formatVersion, ...owners.self() })
    }
    if (epoch > 1) claim()
    return createMemoryJournal({
      now,
      ...(mask && { mask }),
      epoch,
      ...(epoch === 1 && { begin: claim }),
      keep: (record) => records.push(record),
      isFenced: () => newestEpoch(records) > epoch,
    })
  }

  async function refuseWhileOwned(run: string, records: readonly JournalRecord[]): Promise<void> {
    const header = records.findLast((record) => record.k === 'seg')
    if (header?.k !== 'seg' || records.at(-1)?.k === 'run.end') return
    if (await owners.isAlive(header)) refuseRun(run, header)
  }

  async function* read(run: string): AsyncGenerator<Reading> {
    // a fenced writer may still add to its own epoch, so order is made here
    const records = (runs.get(run) ?? []).toSorted((left, right) => left.e - right.e || left.n - right.n)
    for (const record of records) yield isKnownRecord(record) ? { type: 'record', record } : { type: 'unknown', record }
  }

  return { open, read }
}

function newestEpoch(records: readonly JournalRecord[]): number {
  return records.reduce((newest, { e }) => Math.max(newest, e), 0)
}
