import { entryStatus } from '../base/entries.ts'
import { readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BatonError } from '../base/error.ts'
import { type FilePart, isInside, newTemporaryName, realPath, replaceFile } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import { type Disk, keptContent } from '../event/effects.ts'
import * as entries from './entries.ts'
import { startHash } from './file-hash.ts'
import type { HashedFile } from './hashed-file.ts'
import {
  change,
  type FileCall,
  hashOf,
  type Planned,
  refuseExisting,
  refuseOther,
  replacedEntry,
  showIn,
  shown,
  writtenPath,
} from './file-effect.ts'
import { allowedEntry, allowedPath, type Asking } from './guard.ts'
import {
  keptAppend,
  keptDelete,
  keptFolder,
  keptLink,
  keptMode,
  keptMove,
  keptWrite,
  type NewContent,
} from './kept-states.ts'
import { fileHead } from './protected/prompt-file.ts'
import { readBytes, statusAt } from './workspace-reads.ts'

export type { FileCall } from './file-effect.ts'

export interface Transfer {
  readonly source: string
  readonly destination: string
  readonly overwrite: boolean
}

/**
 * Writes a whole file; missing folders are made. Every path here is absolute, and each function is one file effect, which asks
 * whether it is allowed, and sends `file.changed`.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function saveFile(path: string, content: string | Uint8Array, call: FileCall): void {
  saveFileOver(path, { content }, call)
}

interface SavedContent {
  readonly content: string | Uint8Array
  /** SHA-256 of the content, where it is known. */
  readonly hash?: string
  readonly over?: string | null | undefined
  /** What stands there, where it was read ahead. */
  readonly present?: HashedFile | undefined
  /** Only the run's own files hold the content: the record says so, for copies of the run that are replayed elsewhere. */
  readonly isOnlyKept?: boolean
}

/**
 * The same, but only in place of what was there when the content was made of it: `over` is its SHA-256, null for nothing,
 * left out for whatever there is. False when something else stands there by now, which then stays.
 */
export function saveFileOver(
  path: string,
  { content, over, hash, present, isOnlyKept = false }: SavedContent,
  call: FileCall,
): boolean {
  return change({ op: 'write', path }, call, (asking) => {
    const target = writtenPath(path, call, { asking, content: () => content })
    const made: NewContent = hash === undefined ? inMemory(content) : { kind: 'bytes', bytes: content, hash }
    const planned = wholeWrite(target, made, { call, present })
    if (over !== undefined && planned.record.before !== over) return undefined
    return isOnlyKept ? { ...planned, record: { ...planned.record, content: keptContent } } : planned
  })
}

/** SHA-256 of the file that a path leads to; null when nothing stands there, undefined when it is none that is read. */
export function presentHash(path: string): string | null | undefined {
  try {
    const status = statusAt(path)
    return status === undefined ? null : status.kind === 'file' ? startHash(realPath(path)) : undefined
  } catch {
    // whoever uses the file says why it cannot be
    return undefined
  }
}

/** A content that was kept: bytes, or a file, with its SHA-256. */
export type KnownContent = { readonly bytes: Uint8Array } | (FilePart & { readonly hash: string })

/**
 * Writes a whole file with a content that may be in another file and need not fit into memory. What stands at the path
 * itself is replaced, also a link, which `saveFile` writes through.
 */
export function restoreFile(path: string, content: KnownContent, call: FileCall): void {
  change({ op: 'write', path }, call, (asking) => {
    const held = (): string | Uint8Array => ('file' in content ? fileHead(content.file) : content.bytes)
    const target = replacedEntry(path, call, { asking, content: held })
    return wholeWrite(target, 'file' in content ? { kind: 'file', ...content } : inMemory(content.bytes), { call })
  })
}

/** A file whose content is made of other files. */
export interface Making {
  readonly op: 'pack' | 'unpack' | 'split' | 'restore'
  /** Absolute path of the file or folder it is made of. */
  readonly source: string
  /** Asked only when the file is written: bytes, or all that another file (absolute path) holds. */
  readonly make: () => Uint8Array | { readonly file: string }
}

/**
 * Writes a whole file whose content is made of other files: a replay, which need not have them, compares only the paths, as it
 * does for copies. One that is restored takes the place of what stands at the path itself; others go where links lead.
 */
export function saveMadeFile(path: string, { op, source, make }: Making, call: FileCall): void {
  change({ op, path, source: shown(source, call) }, call, (asking) => {
    let made: ReturnType<Making['make']> | undefined
    const once = (): ReturnType<Making['make']> => (made ??= make())
    const held = (): string | Uint8Array => {
      const content = once()
      return content instanceof Uint8Array ? content : fileHead(content.file)
    }
    const asked = { asking, content: held }
    const target = op === 'restore' ? replacedEntry(path, call, asked) : writtenPath(path, call, asked)
    const content = once()
    return wholeWrite(target, content instanceof Uint8Array ? inMemory(content) : onDisk(content.file), { call })
  })
}

function onDisk(file: string): NewContent {
  return { kind: 'file', file, bytes: statSync(file).size, hash: startHash(file) }
}

function inMemory(bytes: string | Uint8Array): NewContent {
  return { kind: 'bytes', bytes, hash: sha256(bytes) }
}

/** Puts a content in place of what a file holds. `from`: what it is a copy of, as it is shown. */
function wholeWrite(
  target: string,
  content: NewContent,
  {
    call,
    present,
    ...copied
  }: { readonly call: FileCall; readonly from?: string; readonly present?: HashedFile | undefined },
): Planned {
  const temporaryName = newTemporaryName()
  const before = present?.isUnchanged() === true ? present.hash : hashOf(target, call)
  return {
    record: { path: target, ...copied, before, after: content.hash, temp: temporaryName },
    act: (disk) => replaceFile(disk(target), content.kind === 'bytes' ? content.bytes : content, { temporaryName }),
    keep: () => keptWrite(target, { content, before }, showIn(call)),
  }
}

/**
 * Adds to the end of a file, which is made when missing. What is recorded is the size before (`offset`), and length and
 * hash of what was added: hashing all that is there already would make many small appends slow.
 */
export function appendToFile(path: string, content: string | Uint8Array, call: FileCall): void {
  change({ op: 'append', path }, call, (asking) => {
    const held = (): Uint8Array => Buffer.concat([fileHead(path), Buffer.from(content)])
    const target = allowedPath('write', path, asking, held)
    const offset = refuseOther(target, call)?.size ?? 0
    const bytes = Buffer.byteLength(content)
    const act = (disk: Disk): void => entries.appendWhole(disk(target), Buffer.from(content), offset)
    const keep: Planned['keep'] = (isFirst) => keptAppend(target, { content, isFirst: isFirst(target) }, showIn(call))
    return { record: { path: target, before: null, after: sha256(content), offset, bytes }, act, keep }
  })
}

/** Copies the content of a file. */
export function copyFile({ source, destination, overwrite }: Transfer, call: FileCall): void {
  change({ op: 'copy', path: destination, from: shown(source, call) }, call, (asking) => {
    const target = allowedPath('write', destination, asking, () => readBytes(source, call.context))
    const from = allowedPath('read', source, asking)
    const content = readBytes(source, call.context)
    if (!overwrite) refuseExisting(target, call)
    refuseOther(target, call)
    return wholeWrite(target, inMemory(content), { call, from: shown(from, call) })
  })
}

/** Moves a file, folder or link. The file system's own move where possible, else a copy and a removal. */
export function moveEntry({ source, destination, overwrite }: Transfer, call: FileCall): void {
  change({ op: 'move', path: destination, from: shown(source, call) }, call, (asking) => {
    const from = allowedEntry(source, asking)
    const target = allowedPath('write', destination, asking, () => fileHead(from))
    allowBelow(from, target, { destination, asking })
    const after = hashOf(from, call)
    if (after === null) throw new BatonError('FILE_FAILED', `there is no file ${shown(source, call)} to move`)
    if (!overwrite) refuseExisting(target, call)
    if (from !== target && isInside(from, target)) {
      throw new BatonError('FILE_FAILED', `${shown(source, call)} cannot be moved into itself`)
    }
    const record = { path: target, from: shown(from, call), before: hashOf(target, call), after }
    return {
      record,
      act: (disk) => entries.moveTo(disk(from), disk(target)),
      keep: () => keptMove({ from, path: target }, showIn(call)),
    }
  })
}

/** Asks for each file of a folder that is moved by the name that it gets: who is held to a pack may not write all names. */
function allowBelow(
  from: string,
  target: string,
  { destination, asking }: { readonly destination: string; readonly asking: Asking },
): void {
  if (asking.context.scope.rights.packs.length === 0 || entryStatus(from)?.isDirectory() !== true) return
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const source = join(entry.parentPath, entry.name)
    const below = relative(from, source)
    const [path, named] = [join(target, below), join(destination, below)]
    asking.allow({ kind: 'write', path, named }, () => (entry.isFile() ? fileHead(source) : ''))
  }
}

/**
 * Removes a file, a link (not what it leads to) or a folder with all that is in it. AIPack moves to the trash; here it
 * is gone. False when there is nothing.
 */
export function deleteEntry(path: string, call: FileCall): boolean {
  return change({ op: 'delete', path }, call, (asking) => {
    const target = allowedEntry(path, asking)
    const before = hashOf(target, call)
    if (before === null) return undefined
    const isFolder = entryStatus(target)?.isDirectory() === true
    const temporaryName = isFolder ? newTemporaryName() : undefined
    return {
      record: { path: target, before, after: null, ...defined({ temp: temporaryName }) },
      act: (disk) => entries.remove(disk(target), temporaryName),
      keep: () => keptDelete(target, showIn(call)),
    }
  })
}

/** Makes a folder and those above it. False when it exists already; an error when something else stands there. */
export function makeFolder(path: string, call: FileCall): boolean {
  return change({ op: 'mkdir', path }, call, (asking) => {
    const target = allowedPath('write', path, asking)
    const status = statusAt(target)
    if (status?.kind === 'folder') return undefined
    if (status !== undefined) throw new BatonError('FILE_FAILED', `${shown(path, call)} exists and is not a folder`)
    return {
      record: { path: target, before: null, after: emptyFolder },
      act: (disk) => entries.makeFolder(disk(target)),
      keep: () => keptFolder(target, showIn(call)),
    }
  })
}

/** Removes a folder that has nothing in it. False when it is not there or holds something. */
export function removeEmptyFolder(path: string, call: FileCall): boolean {
  return change({ op: 'delete', path }, call, (asking) => {
    const target = allowedEntry(path, asking)
    if (statusAt(target)?.kind !== 'folder' || readdirSync(target).length > 0) return undefined
    return {
      record: { path: target, before: emptyFolder, after: null },
      act: (disk) => entries.removeFolder(disk(target)),
      keep: () => keptDelete(target, showIn(call)),
    }
  })
}

/** Sets the permission bits of a file or folder. */
export function setMode(path: string, mode: number, call: FileCall): void {
  change({ op: 'chmod', path }, call, (asking) => {
    const target = allowedPath('write', path, asking)
    const present = hashOf(target, call)
    const record = { path: target, before: present, after: present, mode }
    return {
      record,
      act: (disk) => entries.changeMode(disk(target), mode),
      keep: () => keptMode(target, mode, showIn(call)),
    }
  })
}

/** Makes a link to `to`, which is kept as it is written; it takes the place of a file or link. Missing folders are made. */
export function makeLink(path: string, to: string, call: FileCall): void {
  change({ op: 'link', path }, call, (asking) => {
    const target = replacedEntry(path, call, { asking, content: () => to })
    const temporaryName = newTemporaryName()
    return {
      record: { path: target, before: hashOf(target, call), after: sha256(to), temp: temporaryName },
      act: (disk) => entries.makeLink(disk(target), to, temporaryName),
      keep: () => keptLink(target, to, showIn(call)),
    }
  })
}

const emptyFolder = sha256('')
