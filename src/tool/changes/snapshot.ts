import { BatonError } from '../../base/error.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { entryStatus } from '../../base/entries.ts'
import { join } from 'node:path'
import { orUnreadable } from '../workspace-reads.ts'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { sha256 } from '../../base/hash.ts'
import { startHash } from '../file-hash.ts'

/** The complete content of an entry. `mode` are the permission bits. */
export type Snapshot =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly mode: number; readonly content: Uint8Array }
  | { readonly kind: 'folder'; readonly mode: number; readonly entries: readonly { name: string; entry: Snapshot }[] }
  | { readonly kind: 'link'; readonly to: string }

/**
 * Reads everything at a path (absolute), without following links.
 * @throws BatonError FILE_FAILED if it cannot be read, or contains devices or pipes
 */
export function takeSnapshot(path: string): Snapshot {
  return orUnreadable(path, () => snapshotOf(path))
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

/** Whether everything that exists now already existed in the snapshot before. */
export function isPartOf(now: Snapshot, before: Snapshot): boolean {
  if (now.kind !== 'folder' || before.kind !== 'folder') return now.kind === 'absent' || equalContents(now, before)
  const there = new Map(before.entries.map(({ name, entry }) => [name, entry]))
  return now.entries.every(({ name, entry }) => isPartOf(entry, there.get(name) ?? { kind: 'absent' }))
}

/** Ignores the permission bits. */
export function equalContents(one: Snapshot, other: Snapshot): boolean {
  return one.kind === other.kind && (one.kind === 'absent' || snapshotHash(one) === snapshotHash(other))
}

/** A hash of the entry, ignoring the permission bits. */
export function snapshotHash(snapshot: Snapshot): string {
  switch (snapshot.kind) {
    case 'absent':
      return 'absent'
    case 'file':
      return `file ${sha256(snapshot.content)}`
    case 'link':
      return `link ${snapshot.to}`
    case 'folder':
      return folderHash(snapshot.entries.map(({ name, entry }) => [name, snapshotHash(entry)]))
  }
}

/** The same hash for the present entry at a path, without holding it in memory. */
export function hashAt(path: string): string {
  const status = entryStatus(path)
  if (status === undefined) return 'absent'
  if (status.isSymbolicLink()) return `link ${readlinkSync(path)}`
  if (status.isFile()) return `file ${startHash(path)}`
  if (!status.isDirectory()) throw notKept(path)
  return folderHash(readdirSync(path).map((name) => [name, hashAt(join(path, name))]))
}

function folderHash(entries: readonly (readonly [name: string, hash: string])[]): string {
  return `folder ${sha256(JSON.stringify(entries.toSorted(([one], [other]) => compareBytes(one, other))))}`
}

/** More than this is not kept in memory for a rollback. */
const mostBytes = 128 * 1024 * 1024
const mostEntries = 20_000

/** The size of a snapshot. */
export interface SnapshotSize {
  readonly bytes: number
  readonly entries: number
}

/**
 * Adds the size of a snapshot of the path.
 * @throws BatonError FILE_FAILED if the total is more than is kept, or the entry could not be restored
 */
export function measureSnapshot(path: string, before: SnapshotSize): SnapshotSize {
  return orUnreadable(path, () => sizeOf(path, before))
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
      `the changes would replace or remove more than ${mostBytes / 1024 / 1024} MB or ${mostEntries} files, too much to restore if one of them fails`,
      { hint: 'Remove large folders manually.' },
    )
  }
  return isFolder ? readdirSync(path).reduce((sum, name) => sizeOf(join(path, name), sum), size) : size
}

function notKept(path: string): BatonError {
  return new BatonError('FILE_FAILED', `${path} is a device or pipe, which could not be restored`)
}
