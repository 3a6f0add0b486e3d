import { encodeFields, recordJson } from './fields.ts'
import { journalFailure } from './failure.ts'
import type { RunJournal } from './journal.ts'
import type { Entry, JournalRecord } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'

export interface MemoryJournalOptions {
  readonly now?: () => Date
  readonly mask?: SecretMask
  readonly epoch?: number
  /** Receives each record, masked and encoded as in a file. Omitted: records are validated and dropped. */
  readonly keep?: (record: JournalRecord) => void
}

/** A journal without a disk: nothing outlives the process, everything else works as with files. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): RunJournal {
  const { now = () => new Date(), mask = noMask, epoch = 1, keep } = options
  // number 0 is the header of a file
  let next = 1
  let isClosed = false

  function record(entry: Entry): number {
    if (isClosed) throw journalFailure('memory', new Error('it is already closed'))
    const fields = encodeFields(entry, { mask: mask.mask })
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
    keep: undefined,
    keepAhead: undefined,
    findKept: undefined,
    limitSize: undefined,
    push: () => undefined,
    syncSoon: () => undefined,
    flush: async () => undefined,
    fenced: () => false,
    async close() {
      isClosed = true
    },
  }
}
