import { BatonError, isBatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { capture } from './work-result.ts'
import { isBlobReference } from './blobs.ts'
import type { JournalRecord } from './record.ts'
import type { Damage } from './segment-reader.ts'
import type { RecordSource } from './source.ts'

/** The damage of the first large value of a record that cannot be read intact. */
export function damagedValue(record: JournalRecord, source: RecordSource): Damage | undefined {
  for (const field of Object.values(record as object) as readonly Json[]) {
    if (!isBlobReference(field)) continue
    const read = capture(() => source.value(field))
    // a missing secret is not damage
    if (read.status === 'ok' || !isBatonError(read.error) || read.error.code !== 'JOURNAL_FAILED') continue
    const { place, message } = read.error
    return { file: place?.file ?? '', offset: 0, bytes: 0, reason: message }
  }
  return undefined
}

export function damageText({ file, offset, bytes, reason }: Damage): string {
  if (bytes === 0) return reason === 'missing' ? `${file} is missing` : reason
  return `${file} is damaged: ${bytes} bytes from byte ${offset} on are ${reason}`
}

/** The error of a run that cannot be read completely. */
export function damagedRun(damage: Damage): BatonError {
  const { file } = damage
  return new BatonError('JOURNAL_FAILED', damageText(damage), {
    hint: 'Resume with --repair to continue without them: what they contained is repeated, and paid for again.',
    place: { file },
  })
}
