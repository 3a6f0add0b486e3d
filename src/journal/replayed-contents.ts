import { sha256 } from '../base/hash.ts'
import type { RunJournal } from './journal.ts'
import type { RecordSource } from './source.ts'

/** Bytes that a replay holds in memory. */
const mostInMemory = 32 * 1024 * 1024

/** The contents of a replay: those that the recorded run kept, and in memory those that the replay keeps. */
export function replayedContents(source: RecordSource): Pick<RunJournal, 'keep' | 'keepAhead' | 'findKept'> {
  /** Oldest first. */
  const held = new Map<string, Buffer>()
  let size = 0
  return {
    keep(content) {
      if (!('bytes' in content)) return
      const hash = content.hash ?? sha256(content.bytes)
      if (held.has(hash)) return
      const bytes = Buffer.from(content.bytes as string)
      held.set(hash, bytes)
      size += bytes.length
      for (const [oldest, { length }] of held) {
        if (size <= mostInMemory || oldest === hash) return
        held.delete(oldest)
        size -= length
      }
    },
    keepAhead: async () => undefined,
    findKept: (hash) => held.get(hash) ?? source.kept(hash),
  }
}
