import type { Effects } from '../event/effects.ts'
import { createEffects, type EffectsOptions } from './effects.ts'
import { journalFailure } from './failure.ts'
import { encodeFields, recordJson } from './fields.ts'
import type { RunJournal } from './journal.ts'
import type { Entry, JournalRecord } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'

export interface MemoryJournalOptions {
  readonly now?: () => Date
  readonly mask?: SecretMask
  readonly epoch?: number
  /** Called before the first record; a throw refuses it. */
  readonly begin?: () => void
  /** Takes each record, masked and encoded as a file would hold it. Left out: records are checked and forgotten. */
  readonly keep?: (record: JournalRecord) => void
  readonly isFenced?: () => boolean
}

/** A journal without a disk: nothing outlives the process, everything else is as with files. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): RunJournal {
  const { now = () => new Date(), mask = noMask, epoch = 1, begin, keep, isFenced } = options
  // number 0 is the header of a file
  let next = 1
  let isClosed = false

  function record(entry: Entry): number {
    if (isClosed) throw journalFailure('memory', new Error('it is closed already'))
    const fields = encodeFields(entry, { mask: mask.mask })
    if (next === 1) begin?.()
    const n = next++
    keep?.(JSON.parse(recordJson({ e: epoch, n, t: now().getTime() }, fields)) as JournalRecord)
    return n
  }

  return {
    epoch,
    mask,
    failure: new AbortController().signal,
    note: record,
    append: async (entry) => record(entry),
    push: () => undefined,
    flush: async () => undefined,
    fenced: async () => isFenced?.() ?? false,
    async close() {
      isClosed = true
    },
  }
}

export interface MemoryEffectsOptions extends Partial<Omit<EffectsOptions, 'journal'>> {
  readonly mask?: SecretMask
  readonly now?: () => Date
}

/** Effects whose records can be looked at: the code of real runs over a journal in memory. */
export function createMemoryEffects(
  options: MemoryEffectsOptions = {},
): Effects & { readonly records: readonly JournalRecord[] } {
  const { mask = noMask, now = () => new Date(), signal = new AbortController().signal, ...hooks } = options
  const records: JournalRecord[] = []
  const journal = createMemoryJournal({ mask, now, keep: (record) => records.push(record) })
  return { ...createEffects({ ...hooks, journal, signal }), records }
}
