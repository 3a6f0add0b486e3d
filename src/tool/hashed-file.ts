import { type BigIntStats, fstatSync } from 'node:fs'
import { createHash } from '../base/hash.ts'
import { readRegular } from '../base/regular-file.ts'
import type { RunContext } from '../event/context.ts'
import { readSlices } from './workspace-reads.ts'

/** The hash of a file that was read whole, for as long as nobody writes it. */
export interface HashedFile {
  readonly hash: string
  /** Whether the file is still the one that was read, by what the system says of it: nothing is read again. */
  readonly isUnchanged: () => boolean
}

/** The clock of a file system is coarser than ours: what was written shortly before may be written again unseen. */
const clockMs = 100n

/**
 * Hashes a large file (absolute path, links resolved) while other work of the process continues. Undefined where a change could not be
 * noticed: it was written just now, is written meanwhile, or its system keeps no exact times. Rejects with the reason of the signal.
 */
export async function hashedFile(path: string, context: RunContext): Promise<HashedFile | undefined> {
  const before = statusOf(path)
  if (before === undefined || !isExact(before) || isRecent(before)) return undefined
  const hash = createHash('sha256')
  const take = (piece: Buffer): boolean => {
    hash.update(piece)
    return true
  }
  await readSlices(path, take, context)
  const isUnchanged = (): boolean => isSame(before, statusOf(path))
  return isUnchanged() ? { hash: hash.digest('hex'), isUnchanged } : undefined
}

/** Of the open file: a network file system asks its server then. */
function statusOf(path: string): BigIntStats | undefined {
  try {
    return readRegular(path, (descriptor) => fstatSync(descriptor, { bigint: true }))
  } catch {
    // who reads or writes it says why it cannot be
    return undefined
  }
}

function isExact({ ctimeNs }: BigIntStats): boolean {
  return ctimeNs % 1_000_000n !== 0n
}

function isRecent({ ctimeNs }: BigIntStats): boolean {
  return ctimeNs / 1_000_000n > BigInt(Date.now()) - clockMs
}

function isSame(one: BigIntStats, other: BigIntStats | undefined): boolean {
  return (
    other !== undefined &&
    one.dev === other.dev &&
    one.ino === other.ino &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  )
}
