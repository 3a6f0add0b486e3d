import { join } from 'node:path'
import { hasSystemCode } from '../base/error.ts'
import { randomName } from '../base/random-name.ts'
import { capture, unwrap } from './work-result.ts'
import { type FilePort, nodeFiles } from './file-port.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import { writeAll } from './transfer.ts'

/** One file per writer epoch, never changed by any other process. */
export function segmentFile(folder: string, epoch: number): string {
  return join(folder, `j-${String(epoch).padStart(6, '0')}.jsonl`)
}

/** The epochs of a run folder, ascending. */
export function epochsIn(folder: string, files: FilePort): readonly number[] {
  const numbers = files.list(folder).map((name) => Number(/^j-(\d{6,})\.jsonl$/.exec(name)?.[1]))
  return numbers.filter((epoch) => epoch > 0).toSorted((left, right) => left - right)
}

export interface ClaimOptions {
  readonly epoch: number
  /** The first lines of the file. */
  readonly header: Uint8Array
  /** `durable`: the header is synced before the epoch is won; `lazy`: with the first durable record. */
  readonly sync: 'durable' | 'lazy'
}

export interface ClaimContext {
  readonly folder: string
  readonly files: FilePort
  readonly pending: PendingSyncs
}

/**
 * Tries to win an epoch: the winner is the process that links its prepared file first. Returns the file's descriptor,
 * or undefined if another process was first. A process that dies leaves no lock behind.
 */
export function claimEpoch(options: ClaimOptions, { folder, files, pending }: ClaimContext): number | undefined {
  pending.makeFolder(folder)
  const file = segmentFile(folder, options.epoch)
  const temporary = join(folder, `.j-${randomName()}.tmp`)
  const descriptor = files.create(temporary)
  try {
    writeHeader(descriptor, options, files)
    const outcome = tryLink(files, temporary, file)
    files.remove(temporary)
    pending.folder(folder)
    if (outcome === 'won') return descriptor
    files.close(descriptor)
    return outcome === 'lost' ? undefined : createWithoutLink(file, options, files)
  } catch (error) {
    // the error that is being thrown says more than an error of these
    capture(() => files.close(descriptor))
    capture(() => files.remove(temporary))
    throw error
  }
}

function writeHeader(descriptor: number, { header, sync }: ClaimOptions, files: FilePort): void {
  writeAll(files, descriptor, header)
  if (sync === 'durable') files.syncDataNow(descriptor)
}

/**
 * Returns an epoch that this process won and recorded nothing in: the run then has no file for it.
 * @throws errors of the file system
 */
export function withdrawEpoch(folder: string, epoch: number, files: FilePort = nodeFiles): void {
  const file = segmentFile(folder, epoch)
  if (files.size(file) !== undefined) files.remove(file)
}

function tryLink(files: FilePort, from: string, to: string): 'won' | 'lost' | 'unsupported' {
  try {
    files.link(from, to)
    return 'won'
  } catch (error) {
    if (hasSystemCode(error, 'EEXIST')) return 'lost'
    if (hasSystemCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) return 'unsupported'
    throw error
  }
}

/**
 * For file systems without hard links (exFAT, some FUSE file systems): still a single winner. For a moment the file has
 * no header; a process that opens the run at that moment takes the next epoch, and this writer finds itself fenced.
 */
function createWithoutLink(file: string, options: ClaimOptions, files: FilePort): number | undefined {
  const created = capture(() => files.create(file))
  if (created.status === 'failed' && hasSystemCode(created.error, 'EEXIST')) return undefined
  const descriptor = unwrap(created)
  try {
    writeHeader(descriptor, options, files)
    return descriptor
  } catch (error) {
    capture(() => files.close(descriptor))
    throw error
  }
}
