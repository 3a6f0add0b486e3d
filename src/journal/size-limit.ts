import { basename, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { sizeText } from '../base/size.ts'
import { blobFolder } from './blobs.ts'
import type { FilePort } from './file-port.ts'
import type { Entry } from './record.ts'

/**
 * Records of starts and reads: without them nothing is lost, because a resume repeats these. All others are written
 * even beyond the limit: what was paid for or changed, and how the run ended.
 */
const limitedKinds: ReadonlySet<Entry['k']> = new Set<Entry['k']>(['begin', 'started', 'obs', 'call', 'use', 'show'])

/** Counts the disk space of a run's journal. */
export interface SizeLimit {
  /**
   * Requests `bytes` more, before they are written; counts them.
   * @throws BatonError RUN_TOO_LARGE beyond the limit, and the same error from then on
   */
  readonly admit: (bytes: number) => void
  /** Counts bytes that are written in any case. */
  readonly count: (bytes: number) => void
  /** The one of these two functions that applies to records of this kind. */
  readonly forKind: (kind: Entry['k']) => (bytes: number) => void
  /** Sets the limit, in bytes. */
  readonly limitTo: (bytes: number) => void
  /** The error, once the limit was reached. */
  readonly reached: () => BatonError | undefined
}

/** Starts with `size` bytes and without a limit. */
export function createSizeLimit(folder: string, size: number): SizeLimit {
  let limit = Infinity
  let written = size
  let error: BatonError | undefined

  function count(bytes: number): void {
    written += bytes
  }

  function admit(bytes: number): void {
    if (error !== undefined) throw error
    if (written + bytes > limit) throw (error = tooLarge(folder, { limit, written, bytes }))
    count(bytes)
  }

  return {
    admit,
    count,
    forKind: (kind) => (limitedKinds.has(kind) ? admit : count),
    limitTo: (bytes) => void (limit = bytes),
    reached: () => error,
  }
}

/** The bytes that a run has written so far: its records and blobs. */
export function sizeOnDisk(folder: string, files: FilePort): number {
  const sizes = [folder, blobFolder(folder)].flatMap((each) =>
    files.list(each).map((name) => (name === 'blobs' ? 0 : (files.size(join(each, name)) ?? 0))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function tooLarge(
  folder: string,
  { limit, written, bytes }: { readonly limit: number; readonly written: number; readonly bytes: number },
): BatonError {
  const message = `the record of this run would exceed ${sizeText(limit)}: it has ${sizeText(written)}, and ${sizeText(bytes)} more would be recorded`
  const id = basename(folder)
  return new BatonError('RUN_TOO_LARGE', message, {
    hint: `Check whether a script repeats something endlessly. Otherwise raise the limit: baton resume ${id} -c runs.max_size=${sizeText(Math.max(2 * limit, 2 * (written + bytes)))}`,
  })
}
