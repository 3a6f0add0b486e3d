import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { randomName } from '../base/random-name.ts'
import { capture } from './work-result.ts'
import type { FilePort } from './file-port.ts'
import type { Owner, OwnerPort } from './owner.ts'
import { segmentFile } from './segment.ts'

/** Milliseconds between two heartbeats of a waiting writer. */
export const beatMs = 5000
/** Milliseconds without a heartbeat after which a process that cannot be seen from here counts as gone. */
export const leaseMs = 30_000

/** The file that grows by one byte per heartbeat; created with the first one, removed when its writer ends. */
export function beatFile(folder: string, epoch: number): string {
  return join(folder, `j-${String(epoch).padStart(6, '0')}.alive`)
}

/** The writer of an epoch. */
export interface Claim {
  readonly folder: string
  readonly epoch: number
  readonly owner: Owner
}

export interface OwnershipContext {
  readonly files: FilePort
  readonly owners: OwnerPort
  /** Milliseconds, by the clock that dates the files. */
  readonly now: () => number
}

/**
 * Whether the writer of an epoch is alive. A process that cannot be seen from here, in another container or on another
 * machine, counts as alive as long as its files changed recently; a returned number is when that expires, in
 * milliseconds.
 */
export async function lifeOf(claim: Claim, { files, owners, now }: OwnershipContext): Promise<boolean | number> {
  const { folder, epoch, owner } = claim
  if (owners.isVisible(owner)) return owners.isAlive(owner)
  const signs = [segmentFile(folder, epoch), beatFile(folder, epoch)].map((file) => files.modified(file) ?? 0)
  const left = Math.max(...signs) + leaseMs - now()
  return left > 0 && left
}

/**
 * Refuses while the writer of an epoch is alive.
 * @throws BatonError USAGE
 */
export async function refuseWhileOwned(claim: Claim, context: OwnershipContext): Promise<void> {
  const life = await lifeOf(claim, context)
  if (life === true) refuseRun(claim.folder, claim.owner)
  if (life === false) return
  const { folder, owner } = claim
  const where = `process ${owner.pid} on ${owner.host}, in another container or on another machine`
  throw new BatonError('USAGE', `the run in ${folder} is being executed by ${where}`, {
    hint: `If it is gone, resume in ${Math.ceil(life / 1000)} seconds: its lease has expired then.`,
  })
}

/**
 * Refuses to open a run.
 * @throws BatonError USAGE
 */
export function refuseRun(folder: string, owner?: Owner): never {
  const who = owner === undefined ? 'another process' : `process ${owner.pid}`
  throw new BatonError('USAGE', `the run in ${folder} is being executed by ${who}`, {
    hint: 'Wait until it has ended, or stop it first.',
  })
}

/** The current time by the clock that dates files in a folder: another machine with a different clock may date them. */
export function fileTime(folder: string, files: FilePort): number {
  const probe = join(folder, `.t-${randomName()}.tmp`)
  const made = capture(() => {
    files.close(files.create(probe))
    return files.modified(probe)
  })
  capture(() => files.remove(probe))
  return made.status === 'ok' && made.value !== undefined ? made.value : Date.now()
}
