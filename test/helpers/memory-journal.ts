import { BatonError } from '../../src/base/error.ts'
import type { Effects } from '../../src/event/effects.ts'
import { createMeter } from '../../src/event/meter.ts'
import { createEffects, type EffectsOptions } from '../../src/journal/effects.ts'
import type { JournalStore, RunJournal } from '../../src/journal/journal.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { processOwners, type OwnerPort } from '../../src/journal/owner.ts'
import { refuseRun } from '../../src/journal/ownership.ts'
import { type Entry, formatVersion, isKnownRecord, type JournalRecord } from '../../src/journal/record.ts'
import { noMask, type SecretMask } from '../../src/journal/secrets.ts'
import type { Reading } from '../../src/journal/segment-reader.ts'
import type { RecordSource } from '../../src/journal/source.ts'
import { decodeValue } from '../../src/journal/value.ts'

export interface MemoryEffectsOptions extends Partial<Omit<EffectsOptions, 'journal'>> {
  readonly mask?: SecretMask
  readonly now?: () => Date
}

/** Effects whose records can be inspected: the code of real runs over a journal in memory. */
export function createMemoryEffects(
  options: MemoryEffectsOptions = {},
): Effects & { readonly records: readonly JournalRecord[] } {
  const { mask = noMask, now = () => new Date(), ...others } = options
  const records: JournalRecord[] = []
  const journal = createMemoryJournal({ mask, now, keep: (record) => records.push(record) })
  const { add } = createMeter()
  const effects = createEffects({
    signal: new AbortController().signal,
    permission: { check: () => ({ kind: 'allow' }) },
    onSpent: (at, spent) => void add(at, spent),
    ...others,
    journal,
  })
  return { ...effects, records }
}

/** Larger than any number within an epoch. */
const epochSpan = 2 ** 40

/** The records of a run in memory, in any order. Records added later are not seen. */
export function openMemoryRecords(records: readonly JournalRecord[], { unmask }: SecretMask): RecordSource {
  const ordered = inOrder(records)
  const newestEpoch = ordered.at(-1)?.e ?? 0
  const byLocation = new Map(ordered.map((record) => [record.e * epochSpan + record.n, record]))
  return {
    async scan(visit) {
      for (const [location, record] of byLocation) visit(record, location, record.e === newestEpoch)
      return []
    },
    at(location) {
      const record = byLocation.get(location)
      if (record === undefined) throw new BatonError('JOURNAL_FAILED', 'there is no such record in memory')
      return record
    },
    value: (field) => (field === undefined ? undefined : decodeValue(field, unmask)),
    kept: () => undefined,
    close: () => undefined,
  }
}

/** A fenced writer may still append to its own epoch, so records are sorted when they are read. */
function inOrder(records: readonly JournalRecord[]): readonly JournalRecord[] {
  return records.toSorted((left, right) => left.e - right.e || left.n - right.n)
}

export interface MemoryStoreOptions {
  readonly now: () => Date
  readonly mask?: SecretMask
  readonly owners?: OwnerPort
}

interface MemoryRun {
  readonly records: JournalRecord[]
  newestEpoch: number
}

/** Runs that exist as long as this object: a second store that fulfills the contract of all stores. */
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
    let isBegun = epoch > 1
    const begin = (): void => {
      if (!isBegun) claim()
      isBegun = true
    }
    const journal = createMemoryJournal({ now, mask, epoch, keep: (record) => records.push(record) })
    return {
      ...journal,
      note(entry: Entry) {
        begin()
        return journal.note(entry)
      },
      async append(entry: Entry) {
        begin()
        return journal.append(entry)
      },
      fenced: () => kept.newestEpoch > epoch,
    }
  }

  async function refuseWhileOwned(run: string, records: readonly JournalRecord[]): Promise<void> {
    const header = records.findLast((record) => record.k === 'seg')
    if (header?.k !== 'seg' || records.at(-1)?.k === 'run.end') return
    if (await owners.isAlive(header)) refuseRun(run, header)
  }

  async function* read(run: string): AsyncGenerator<Reading> {
    for (const record of inOrder(runs.get(run)?.records ?? [])) {
      yield isKnownRecord(record) ? { type: 'record', record } : { type: 'unknown', record }
    }
  }

  return { open, read, records: (run) => openMemoryRecords(runs.get(run)?.records ?? [], mask) }
}
