import { closeSync, lstatSync, openSync, readSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import { entryHash, entryStatus } from './file-hash.ts'

/**
 * What the disk says about a file change that was begun and whose end is not recorded: its files are as they were
 * before it, as it leaves them, or neither (DESIGN 11 "Uncertain effects"). Paths are relative to the workspace. What a
 * killed process has left of a file it was about to put in place is removed.
 */
export function settleChange(change: FileChangeRecord, workspace: string): 'before' | 'after' | 'neither' {
  const { path, temp } = change
  if (typeof temp === 'string')
    rmSync(join(dirname(realPath(resolve(workspace, path))), basename(temp)), { force: true })
  return changeState(change, workspace)
}

function changeState(change: FileChangeRecord, workspace: string): 'before' | 'after' | 'neither' {
  const path = resolve(workspace, change.path)
  switch (change.op) {
    case 'append':
      return appendState(change, path)
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

function stateOf({ before, after }: FileChangeRecord, path: string): 'before' | 'after' | 'neither' {
  const now = entryHash(path)
  if (now === after) return 'after'
  return now === before ? 'before' : 'neither'
}

/** Others may have added behind it. */
function appendState({ offset, bytes, after }: FileChangeRecord, path: string): 'before' | 'after' | 'neither' {
  const size = entryStatus(path)?.size ?? 0
  if (size === offset) return 'before'
  if (typeof offset !== 'number' || typeof bytes !== 'number' || size < offset + bytes) return 'neither'
  return sha256(partOf(path, { offset, bytes })) === after ? 'after' : 'neither'
}

function partOf(path: string, { offset, bytes }: { readonly offset: number; readonly bytes: number }): Uint8Array {
  const part = Buffer.alloc(bytes)
  const descriptor = openSync(path, 'r')
  try {
    let done = 0
    for (let count = 1; count > 0 && done < bytes; done += count) {
      count = readSync(descriptor, part, done, bytes - done, offset + done)
    }
    return part.subarray(0, done)
  } finally {
    closeSync(descriptor)
  }
}
