import { entryStatus } from '../base/entries.ts'
import { lstatSync, truncateSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { isTemporaryName, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import * as entries from './entries.ts'
import { entryHash, startHash } from './file-hash.ts'

/**
 * Determines from the disk the outcome of a file change that was started and whose end is not recorded: its files are
 * in the state before it, the state after it, or neither. Paths are relative to the workspace. Removes the leftovers of
 * a killed process: the temporary file or folder, and a partly appended piece, for which `added` returns the full piece
 * if known.
 * @throws BatonError FILE_FAILED for leftovers that cannot be removed
 */
export function settleChange(
  change: FileChangeRecord,
  workspace: string,
  added: () => Uint8Array | undefined = () => undefined,
): 'before' | 'after' | 'neither' {
  const { temp } = change
  const path = resolve(workspace, change.path)
  if (typeof temp === 'string') {
    // the record may be forged: a change never creates other names
    if (!isTemporaryName(temp)) return 'neither'
    removeEntry(join(realPath(dirname(path)), temp))
  }
  switch (change.op) {
    case 'append':
      return appendState(change, path, added)
    case 'chmod':
      return (lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) % 0o10000 === change['mode'] ? 'after' : 'before'
    case 'mkdir':
      return entryStatus(path)?.isDirectory() === true ? 'after' : stateOf(change, path)
    case 'move': {
      const from = resolve(workspace, change['from'] as string)
      if (entryStatus(from) === undefined) return entryHash(path) === change.after ? 'after' : 'neither'
      return entryHash(from) === change.after && entryHash(path) === change.before ? 'before' : 'neither'
    }
    default:
      return stateOf(change, path)
  }
}

function removeEntry(path: string): void {
  if (entryStatus(path) === undefined) return
  try {
    entries.remove(path)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${path} cannot be removed: ${messageOf(error)}`, {
      hint: 'A killed process left it behind: remove it, and try again.',
      cause: error,
    })
  }
}

function stateOf({ before, after }: FileChangeRecord, path: string): 'before' | 'after' | 'neither' {
  const now = entryHash(path)
  if (now === after) return 'after'
  return now === before ? 'before' : 'neither'
}

/** Compares only the appended bytes, not the rest of the file: others may have appended since. */
function appendState(
  { offset, bytes, after }: FileChangeRecord,
  path: string,
  added: () => Uint8Array | undefined,
): 'before' | 'after' | 'neither' {
  const size = entryStatus(path)?.size ?? 0
  if (typeof offset !== 'number' || typeof bytes !== 'number') return 'neither'
  if (size > offset && size >= offset + bytes && startHash(path, bytes, offset) === after) return 'after'
  if (size === offset) return 'before'
  const begun = size - offset
  const whole = begun > 0 && begun < bytes ? added() : undefined
  if (whole === undefined || sha256(whole) !== after) return 'neither'
  if (startHash(path, begun, offset) !== sha256(whole.subarray(0, begun))) return 'neither'
  truncateSync(realPath(path), offset)
  return 'before'
}

/** The current state of the path of a change, in words. */
export function presentText(change: FileChangeRecord, workspace: string): string {
  const status = entryStatus(resolve(workspace, change.path))
  if (status === undefined) return `${change.path} does not exist now`
  if (!status.isFile()) return `${change.path} is a ${status.isDirectory() ? 'folder' : 'link or device'} now`
  const when = status.mtime.toISOString().slice(0, 19).replace('T', ' ')
  return `${change.path} has ${status.size} bytes now, last changed at ${when} UTC: neither the state before the change nor the one after it`
}
