import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'
import { displayPath, isInside, writeFileAtomic } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Place } from '../event/effects.ts'
import { entryHash } from './file-hash.ts'
import { guard, guardEntry } from './guard.ts'
import { readBytes, statusAt, type FileStatus } from './workspace-reads.ts'

/** A call that changes files: the context it runs in, and the place its effect is recorded at. */
export interface FileCall {
  readonly context: RunContext
  readonly at: Place
}

export interface Transfer {
  readonly source: string
  readonly destination: string
  readonly overwrite: boolean
}

/**
 * Writes a whole file; missing folders are made. Every path here is absolute, and each function asks the policy before
 * it changes anything (DESIGN 9), records one file effect (DESIGN 2 rule 3) and sends `file.changed`.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function saveFile(path: string, content: string | Uint8Array, call: FileCall): void {
  const target = guard('write', path, call.context)
  refuseOther(target, call)
  const before = hashOf(target, call)
  change({ op: 'write', path: target, before, after: sha256(content) }, call, () => writeFileAtomic(target, content))
}

/**
 * Adds to the end of a file, which is made when missing. What is recorded is the size before (`offset`) and the hash of
 * what was added: hashing all that is there already would make many small appends slow.
 */
export function appendToFile(path: string, content: string | Uint8Array, call: FileCall): void {
  const target = guard('write', path, call.context)
  const status = refuseOther(target, call)
  const record = { op: 'append', path: target, before: null, after: sha256(content), offset: status?.size ?? 0 }
  change(record, call, () => {
    mkdirSync(dirname(target), { recursive: true })
    appendFileSync(target, content)
  })
}

/** Copies the content of a file. */
export function copyFile({ source, destination, overwrite }: Transfer, call: FileCall): void {
  const target = guard('write', destination, call.context)
  const from = guard('read', source, call.context)
  const content = readBytes(source, call.context)
  if (!overwrite) refuseExisting(target, call)
  refuseOther(target, call)
  const before = hashOf(target, call)
  const record = { op: 'copy', path: target, from: shown(from, call), before, after: sha256(content) }
  change(record, call, () => writeFileAtomic(target, content))
}

/** Moves a file, folder or link. The file system's own move where possible, else a copy and a removal. */
export function moveEntry({ source, destination, overwrite }: Transfer, call: FileCall): void {
  const from = guardEntry(source, call.context)
  const target = guard('write', destination, call.context)
  const after = hashOf(from, call)
  if (after === null) throw new BatonError('FILE_FAILED', `there is no file ${shown(source, call)} to move`)
  if (!overwrite) refuseExisting(target, call)
  if (from !== target && isInside(from, target)) {
    throw new BatonError('FILE_FAILED', `${shown(source, call)} cannot be moved into itself`)
  }
  const record = { op: 'move', path: target, from: shown(from, call), before: hashOf(target, call), after }
  change(record, call, () => {
    mkdirSync(dirname(target), { recursive: true })
    rename(from, target)
  })
}

function rename(from: string, target: string): void {
  try {
    renameSync(from, target)
  } catch (error) {
    if (!hasSystemCode(error, 'EXDEV')) throw error
    cpSync(from, target, { recursive: true, verbatimSymlinks: true })
    rmSync(from, { recursive: true })
  }
}

/**
 * Removes a file, a link (not what it leads to) or a folder with all that is in it. AIPack moves to the trash; here it
 * is gone. False when there is nothing.
 */
export function deleteEntry(path: string, call: FileCall): boolean {
  const target = guardEntry(path, call.context)
  const before = hashOf(target, call)
  if (before === null) return false
  change({ op: 'delete', path: target, before, after: null }, call, () => rmSync(target, { recursive: true }))
  return true
}

/** Makes a folder and those above it. False when it exists already; an error when something else stands there. */
export function makeFolder(path: string, call: FileCall): boolean {
  const target = guard('write', path, call.context)
  const status = statusAt(target)
  if (status?.kind === 'folder') return false
  if (status !== undefined) throw new BatonError('FILE_FAILED', `${shown(path, call)} exists and is not a folder`)
  change({ op: 'mkdir', path: target, before: null, after: sha256('') }, call, () => {
    mkdirSync(target, { recursive: true })
  })
  return true
}

/** Removes a folder that has nothing in it. False when it is not there or holds something. */
export function removeEmptyFolder(path: string, call: FileCall): boolean {
  const target = guardEntry(path, call.context)
  if (statusAt(target)?.kind !== 'folder' || readdirSync(target).length > 0) return false
  change({ op: 'delete', path: target, before: sha256(''), after: null }, call, () => rmdirSync(target))
  return true
}

/** Sets the permission bits of a file or folder. */
export function setMode(path: string, mode: number, call: FileCall): void {
  const target = guard('write', path, call.context)
  const present = hashOf(target, call)
  change({ op: 'chmod', path: target, before: present, after: present, mode }, call, () => chmodSync(target, mode))
}

/** Makes a link to `to`, which is kept as it is written. Nothing may stand at the path. */
export function makeLink(path: string, to: string, call: FileCall): void {
  const target = guard('write', path, call.context)
  change({ op: 'link', path: target, before: null, after: sha256(to) }, call, () => symlinkSync(to, target))
}

interface Change {
  readonly op: string
  /** Absolute. */
  readonly path: string
  readonly from?: string
  readonly before: string | null
  readonly after: string | null
  readonly offset?: number
  readonly mode?: number
}

function change(record: Change, call: FileCall, act: () => void): void {
  const { context, at } = call
  const path = shown(record.path, call)
  context.effects.performSync(at, { kind: 'file', request: { ...record, path } }, () => {
    try {
      act()
    } catch (error) {
      if (isBatonError(error)) throw error
      throw new BatonError('FILE_FAILED', `${record.op} of ${path} failed: ${messageOf(error)}`, { cause: error })
    }
  })
  emit(context, { type: 'file.changed', op: record.op, path })
}

function shown(path: string, { context }: FileCall): string {
  return displayPath(context.workspace, path)
}

function hashOf(path: string, call: FileCall): string | null {
  try {
    return entryHash(path)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${shown(path, call)} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function refuseExisting(target: string, call: FileCall): void {
  if (statusAt(target) === undefined) return
  throw new BatonError('FILE_FAILED', `${shown(target, call)} exists already`, {
    hint: 'Pass { overwrite = true } to replace it.',
  })
}

/** Refuses what cannot be written as a file; gives what is there now. */
function refuseOther(target: string, call: FileCall): FileStatus | undefined {
  const status = statusAt(target)
  if (status === undefined || status.kind === 'file') return status
  const what = status.kind === 'folder' ? 'a folder' : 'a device or pipe'
  throw new BatonError('FILE_FAILED', `${shown(target, call)} is ${what}, not a file`)
}
