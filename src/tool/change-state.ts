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
 * What the disk says about a file change that was begun and whose end is not recorded: its files are as they were
 * before it, as it leaves them, or neither. Paths are relative to the workspace. What a
 * killed process has left of a file it was about to put in place, or of a folder it was removing, is removed, and so is the
 * beginning of what it was about to add, which `added` gives where it is known.
 * @throws BatonError FILE_FAILED for what cannot be removed
 */
export function settleChange(
  change: FileChangeRecord,
  workspace: string,
  added: () => Uint8Array | undefined = () => undefined,
): 'before' | 'after' | 'neither' {
  const { temp } = change
  const path = resolve(workspace, change.path)
  if (typeof temp === 'string') {
    // a record may come from anywhere: what has another name was not made by a change
    if (!isTemporaryName(temp)) return 'neither'
    removeLeft(join(realPath(dirname(path)), temp))
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

function removeLeft(path: string): void {
  if (entryStatus(path) === undefined) return
  try {
    entries.remove(path)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${path} cannot be removed: ${messageOf(error)}`, {
      hint: 'A process that was killed has left it: remove it, and try again.',
      cause: error,
    })
  }
}

function stateOf({ before, after }: FileChangeRecord, path: string): 'before' | 'after' | 'neither' {
  const now = entryHash(path)
  if (now === after) return 'after'
  return now === before ? 'before' : 'neither'
}

/** Judged by its own bytes, whatever stands before and behind them: others may have added since. */
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

/** What stands at the path of a change now, in words. */
export function presentText(change: FileChangeRecord, workspace: string): string {
  const status = entryStatus(resolve(workspace, change.path))
  if (status === undefined) return `there is no ${change.path} now`
  if (!status.isFile()) return `${change.path} is a ${status.isDirectory() ? 'folder' : 'link or device'} now`
  const when = status.mtime.toISOString().slice(0, 19).replace('T', ' ')
  return `${change.path} has ${status.size} bytes now, last changed at ${when} UTC: neither as before the change nor as after it`
}
