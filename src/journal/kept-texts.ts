import type { KeptTexts } from '../event/context.ts'
import type { RunJournal } from './journal.ts'

/** Texts that a journal keeps beside its records; undefined: this one keeps nothing. */
export function keptTexts({ keep, findKept }: Pick<RunJournal, 'keep' | 'findKept'>): KeptTexts | undefined {
  if (keep === undefined || findKept === undefined) return undefined
  return {
    keep: (text) => keep({ bytes: text }),
    find(hash) {
      const bytes = findKept(hash)
      return bytes === undefined
        ? undefined
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    },
  }
}
