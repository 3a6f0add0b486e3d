import { type BigIntStats, fstatSync } from 'node:fs'
import { createHash } from '../base/hash.ts'
import { readRegular } from '../base/regular-file.ts'
import type { ReadContext } from './guard.ts'
import { readSlices } from './workspace-reads.ts'

/** The hash of a file that was read completely, valid as long as nobody writes the file. */
export interface HashedFile {
  readonly hash: string
  /** Whether the file is unchanged, according to its status; its content is not read again. */
  readonly isUnchanged: () => boolean
}

/** Timestamps of file systems are coarser than our clock: a second write shortly after the first may go unnoticed. */
const clockMs = 100n

/**
 * Hashes a large file (absolute path, links resolved) without blocking other work of the process. Undefined if a change
 * could go unnoticed: the file was just written, is written meanwhile, or its file system has no exact times. Rejects
 * with the reason of the signal.
 */
export async function hashedFile(path: string, context: ReadContext): Promise<HashedFile | undefined> {
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

/** From an open descriptor: that makes a network file system ask its server. */
function statusOf(path: string): BigIntStats | undefined {
  try {
    return readRegular(path, (descriptor) => fstatSync(descriptor, { bigint: true }))
  } catch {
    // whoever reads or writes the file reports the problem
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
