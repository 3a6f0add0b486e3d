import type { BatonError } from '../base/error.ts'
import type { HashedContent, KeptContent } from '../event/effects.ts'
import type { Entry } from './record.ts'
import type { SecretMask } from './secrets.ts'
import type { Reading } from './segment-reader.ts'
import type { RecordSource } from './source.ts'

/**
 * One writer's journal of one run. Records keep the order of the calls. Every string goes through
 * the mask. Errors: `BatonError` JOURNAL_FAILED; once one was given, every later call gives it again.
 */
export interface RunJournal {
  /** Counts from 1; each process that continues a run has its own. */
  readonly epoch: number
  readonly mask: SecretMask
  /** Aborted with the error once the journal cannot be written any more: the run must stop. */
  readonly failure: AbortSignal
  /** Records without waiting. The number of the record. */
  note(entry: Entry): number
  /** Records; resolves with the number of the record once it is durable. */
  append(entry: Entry): Promise<number>
  /**
   * Keeps contents of files, each once, under the hash of its bytes. They are with the operating system when it returns,
   * and durable before the next durable record. Undefined: nothing is kept by this journal.
   */
  readonly keep: ((content: KeptContent) => void) | undefined
  /** The same before it has to be, in slices: one with a secret in it, or with another hash, is left to `keep`. */
  readonly keepAhead: ((content: HashedContent, signal: AbortSignal) => Promise<void>) | undefined
  /** The bytes of a content that was kept, secrets put back; undefined: there is none, or it is damaged. */
  readonly findKept: ((hash: string) => Uint8Array | undefined) | undefined
  /**
   * Limits the bytes that the run takes on the disk, from here on; undefined: this journal takes none. Then what begins or is
   * read is refused beyond them with `BatonError` RUN_TOO_LARGE, and what is the end of something is recorded all the same.
   * The function gives that error, once something was refused.
   */
  readonly limitSize: ((bytes: number) => () => BatonError | undefined) | undefined
  /** Hands over what was noted, so that it survives the end of this process. Call before anything irrevocable. */
  push(): void
  /** The same, and durable within a tenth of a second, which nobody waits for. */
  syncSoon(): void
  /** Resolves once everything recorded so far is durable. */
  flush(): Promise<void>
  /**
   * True when another process continues this run: nothing may be changed or paid for here any more. Throws when what was
   * recorded is gone.
   */
  fenced(): boolean
  /** Writes what is left and gives the file back. Rejects when something recorded could not be written. */
  close(): Promise<void>
}

/** Where runs are kept. Every implementation passes test/contract/journal-store.ts. */
export interface JournalStore {
  /** Becomes the one writer of a run. Throws `BatonError` USAGE while another one is alive and has not ended the run. */
  open(run: string): Promise<RunJournal>
  /** All records of all writers, as they stand: fields are opened by `readValue`. Nothing for an unknown run. */
  read(run: string): AsyncIterable<Reading>
  /** The same records for an index, as they are now; whoever opens it closes it. */
  records(run: string): RecordSource
}
