import { BatonError } from '../base/error.ts'
import { type Head, readHead } from './head.ts'
import type { Location } from './place-tree.ts'
import { encodeLine, type JournalRecord } from './record.ts'
import type { RecordSource } from './run-index.ts'
import type { SecretMask } from './secrets.ts'
import { decodeValue } from './value.ts'

/** More numbers than an epoch has. */
const epochSpan = 2 ** 40

/** The records of a run that are in memory, in any order. Those that are added later are not seen. */
export function openMemoryRecords(records: readonly JournalRecord[], { unmask }: SecretMask): RecordSource {
  // a fenced writer may still add to its own epoch, so order is made here
  const ordered = records.toSorted((left, right) => left.e - right.e || left.n - right.n)
  const newestEpoch = ordered.at(-1)?.e ?? 0
  const byLocation = new Map(ordered.map((record) => [locationOf(record), record]))

  return {
    async scan(visit) {
      for (const [location, record] of byLocation) visit(headOf(record), location, record.e === newestEpoch)
      return []
    },
    at(location) {
      const record = byLocation.get(location)
      if (record === undefined) throw new BatonError('JOURNAL_FAILED', 'there is no such record in memory')
      return record
    },
    value: (field) => (field === undefined ? undefined : decodeValue(field, unmask)),
    close: () => undefined,
  }
}

function locationOf({ e, n }: JournalRecord): Location {
  return e * epochSpan + n
}

function headOf(record: JournalRecord): Head {
  const head = readHead(Buffer.from(encodeLine(JSON.stringify(record)).trimEnd()))
  if (head === undefined) throw new Error(`record ${record.e}.${record.n} cannot be read`)
  return head
}
