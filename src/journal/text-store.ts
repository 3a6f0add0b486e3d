import type { TextStore } from '../event/context.ts'
import type { RunJournal } from './journal.ts'

/** Texts that a journal keeps next to its records; undefined: this journal keeps nothing. */
export function openTextStore({
  keep,
  keepAhead,
  findKept,
}: Pick<RunJournal, 'keep' | 'keepAhead' | 'findKept'>): TextStore | undefined {
  if (keep === undefined || keepAhead === undefined || findKept === undefined) return undefined
  return {
    keep: (text) => keep({ bytes: text }),
    keepAhead,
    find(hash) {
      const bytes = findKept(hash)
      return bytes === undefined
        ? undefined
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    },
  }
}
