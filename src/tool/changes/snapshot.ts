import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, messageOf } from '../../base/error.ts'
import { entryStatus } from '../file-hash.ts'

/** What stands at a path, whole. `mode` are the permission bits. */
export type Snapshot =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly mode: number; readonly content: Uint8Array }
  | { readonly kind: 'folder'; readonly mode: number; readonly entries: readonly SnapshotEntry[] }
  | { readonly kind: 'link'; readonly to: string }

interface SnapshotEntry {
  readonly name: string
  readonly entry: Snapshot
}

/**
 * Reads all that stands at a path (absolute), links not followed.
 * @throws BatonError FILE_FAILED when it cannot be read, or holds devices or pipes
 */
export function takeSnapshot(path: string): Snapshot {
  try {
    return snapshotOf(path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

function snapshotOf(path: string): Snapshot {
  const status = entryStatus(path)
  if (status === undefined) return { kind: 'absent' }
  if (status.isSymbolicLink()) return { kind: 'link', to: readlinkSync(path) }
  const mode = status.mode & 0o7777
  if (status.isFile()) return { kind: 'file', mode, content: readFileSync(path) }
  if (!status.isDirectory()) throw notKept(path)
  const entries = readdirSync(path).map((name) => ({ name, entry: snapshotOf(join(path, name)) }))
  return { kind: 'folder', mode, entries }
}

/** More than this is not kept in memory to be put back. */
const mostBytes = 128 * 1024 * 1024
const mostEntries = 20_000

/** What a snapshot would take. */
export interface SnapshotSize {
  readonly bytes: number
  readonly entries: number
}

/**
 * Adds up what a snapshot of the path would take.
 * @throws BatonError FILE_FAILED when that is more than is kept, or it could not be put back
 */
export function measureSnapshot(path: string, before: SnapshotSize): SnapshotSize {
  try {
    return sizeOf(path, before)
  } catch (error) {
    throw unreadable(path, error)
  }
}

function sizeOf(path: string, before: SnapshotSize): SnapshotSize {
  const status = entryStatus(path)
  if (status === undefined) return before
  const isFolder = status.isDirectory()
  if (!isFolder && !status.isFile() && !status.isSymbolicLink()) throw notKept(path)
  const size = { bytes: before.bytes + (status.isFile() ? status.size : 0), entries: before.entries + 1 }
  if (size.bytes > mostBytes || size.entries > mostEntries) {
    throw new BatonError(
      'FILE_FAILED',
      `the changes would replace or remove more than ${mostBytes / 1024 / 1024} MB or ${mostEntries} files, too much to be put back if one of them fails`,
      { hint: 'Remove large folders by hand.' },
    )
  }
  return isFolder ? readdirSync(path).reduce((sum, name) => sizeOf(join(path, name), sum), size) : size
}

function notKept(path: string): BatonError {
  return new BatonError('FILE_FAILED', `${path} is a device or pipe, which could not be put back`)
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof BatonError) return error
  return new BatonError('FILE_FAILED', `${path} cannot be read: ${messageOf(error)}`, { cause: error })
}
