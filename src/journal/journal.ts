import type { BatonError } from '../base/error.ts'
import type { HashedContent, ContentToStore } from '../event/effects.ts'
import type { Entry } from './record.ts'
import type { SecretMask } from './secrets.ts'
import type { Reading } from './segment-reader.ts'
import type { RecordSource } from './source.ts'

/**
 * One writer's journal of one run. Records keep the order of the calls. Every string goes through the mask. Errors:
 * `BatonError` JOURNAL_FAILED; after the first one, every later call fails with the same error.
 */
export interface RunJournal {
  /** Counts from 1; each process that continues a run has its own epoch. */
  readonly epoch: number
  readonly mask: SecretMask
  /** Aborted with the error once the journal can no longer be written: the run must stop. */
  readonly failure: AbortSignal
  /** Records without waiting. Returns the number of the record. */
  note(entry: Entry): number
  /** Records, and resolves with the number of the record once it is durable. */
  append(entry: Entry): Promise<number>
  /**
   * Keeps contents of files, each once, under the hash of its bytes. When this returns, the operating system has them;
   * they are durable before the next durable record. Undefined: this journal keeps nothing.
   */
  readonly keep: ((content: ContentToStore) => void) | undefined
  /**
   * Does the same ahead of time, in slices. Content with a secret in it, or with a different hash, is left to `keep`.
   */
  readonly keepAhead: ((content: HashedContent, signal: AbortSignal) => Promise<void>) | undefined
  /** The bytes of a kept content, with secrets restored; undefined: it does not exist, or is damaged. */
  readonly findKept: ((hash: string) => Uint8Array | undefined) | undefined
  /**
   * Limits the bytes that the run may use on disk from now on; undefined: this journal uses none. Beyond the limit,
   * records of starts and reads are refused with `BatonError` RUN_TOO_LARGE, while ends are still recorded. The
   * returned function returns that error once something was refused.
   */
  readonly limitSize: ((bytes: number) => () => BatonError | undefined) | undefined
  /**
   * Hands over everything noted, so that it survives the end of this process. Call this before anything irrevocable.
   */
  push(): void
  /** The same, and makes it durable within a tenth of a second, without anyone waiting for it. */
  syncSoon(): void
  /** Resolves once everything recorded so far is durable. */
  flush(): Promise<void>
  /**
   * True if another process has continued this run: nothing may be changed or paid for here any more. Throws if the
   * records are gone.
   */
  fenced(): boolean
  /** Writes what is left and closes the file. Rejects if a record could not be written. */
  close(): Promise<void>
}

/** Where runs are stored. Every implementation passes test/contract/journal-store.ts. */
export interface JournalStore {
  /**
   * Becomes the only writer of a run. Throws `BatonError` USAGE while another writer is alive and has not ended the
   * run.
   */
  open(run: string): Promise<RunJournal>
  /** All records of all writers, undecoded: `readValue` decodes fields. Empty for an unknown run. */
  read(run: string): AsyncIterable<Reading>
  /** The same records for an index, as of now; the caller closes it. */
  records(run: string): RecordSource
}
