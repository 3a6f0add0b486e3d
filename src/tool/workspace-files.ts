import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { entryStatus } from '../base/entries.ts'
import { BatonError } from '../base/error.ts'
import { entryPath, type FilePart, isInside, newTemporaryName, realPath, replaceFile } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import { type Disk, storedContentMarker } from '../event/effects.ts'
import type { NewFileContent } from '../event/permission.ts'
import * as entries from './entries.ts'
import { startHash } from './file-hash.ts'
import type { HashedFile } from './hashed-file.ts'
import {
  change,
  type FileCall,
  hashOf,
  appendSnapshot,
  deleteSnapshot,
  folderSnapshot,
  linkSnapshot,
  modeSnapshot,
  moveSnapshot,
  writeSnapshot,
  type NewContent,
  type Planned,
  refuseExisting,
  refuseOther,
  replacedEntry,
  showIn,
  shownPath,
  writtenPath,
} from './file-effect.ts'
import { allowedEntry, allowedPath, type FileWriter } from './guard.ts'
import { fileHead } from './protected/prompt-file.ts'
import { readBytes, statusAt } from './workspace-reads.ts'

export type { FileCall, FileContext } from './file-effect.ts'

export interface Transfer {
  readonly source: string
  readonly destination: string
  readonly overwrite: boolean
}

/**
 * Writes a whole file; missing folders are created. Every path here is absolute, and each function is one file effect,
 * which checks the permission and emits `file.changed`.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function saveFile(path: string, content: string | Uint8Array, call: FileCall): void {
  saveFileOver(path, { content }, call)
}

interface SavedContent {
  readonly content: string | Uint8Array
  /** SHA-256 of the content, if known. */
  readonly hash?: string
  readonly over?: string | null | undefined
  /** The present file, if it was hashed in advance. */
  readonly present?: HashedFile | undefined
  /** The content exists only in the run's own files: recorded, for copies of the run that are replayed elsewhere. */
  readonly isOnlyKept?: boolean
}

/**
 * The same, but only if the file is still the one the content is based on: `over` is its SHA-256, null for no file,
 * omitted to overwrite anything. Returns false, and changes nothing, if the file differs by now.
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
    return isOnlyKept ? { ...planned, record: { ...planned.record, content: storedContentMarker } } : planned
  })
}

/** SHA-256 of the file a path leads to; null if it does not exist, undefined if it cannot be read as a file. */
export function presentHash(path: string): string | null | undefined {
  try {
    const status = statusAt(path)
    return status === undefined ? null : status.kind === 'file' ? startHash(realPath(path)) : undefined
  } catch {
    // whoever uses the file reports the problem
    return undefined
  }
}

/** Stored content: bytes, or a file, with its SHA-256. */
export type KnownContent = { readonly bytes: Uint8Array } | (FilePart & { readonly hash: string })

/**
 * Writes a whole file with content that may be in another file and need not fit into memory. Replaces the entry at the
 * path itself, even if it is a link, whereas `saveFile` writes through links.
 */
export function restoreFile(path: string, content: KnownContent, call: FileCall): void {
  change({ op: 'write', path }, call, (asking) => {
    const held = (): string | Uint8Array => ('file' in content ? fileHead(content.file) : content.bytes)
    const target = replacedEntry(path, call, { asking, content: held })
    return wholeWrite(target, 'file' in content ? { kind: 'file', ...content } : inMemory(content.bytes), { call })
  })
}

/** A file whose content is made from other files. */
export interface Making {
  readonly op: 'pack' | 'unpack' | 'split' | 'restore'
  /** Absolute path of the file or folder it is made from. */
  readonly source: string
  /** Called only when the file is written: bytes, or the whole content of another file (absolute path). */
  readonly make: () => Uint8Array | { readonly file: string }
}

/**
 * Writes a whole file whose content is made from other files. As with copies, a replay compares only the paths, because
 * it may not have those files. A restore replaces the entry at the path itself; other operations follow links.
 */
export function saveMadeFile(path: string, { op, source, make }: Making, call: FileCall): void {
  change({ op, path, source: shownPath(source, call) }, call, (asking) => {
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

/** Replaces the whole content of a file. `from`: what it is a copy of, as displayed. */
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
    keep: () => writeSnapshot(target, { content, before }, showIn(call)),
  }
}

/**
 * Appends to a file, which is created if missing. The record has the size before (`offset`), and the length and hash of
 * the added content: hashing the whole file each time would make many small appends slow.
 */
export function appendToFile(path: string, content: string | Uint8Array, call: FileCall): void {
  change({ op: 'append', path }, call, (asking) => {
    const held = (): Uint8Array => Buffer.concat([fileHead(path), Buffer.from(content)])
    const target = allowedPath('write', path, asking, held)
    const offset = refuseOther(target, call)?.size ?? 0
    const bytes = Buffer.byteLength(content)
    const act = (disk: Disk): void => entries.appendWhole(disk(target), Buffer.from(content), offset)
    const keep: Planned['keep'] = (isFirst) =>
      appendSnapshot(target, { content, isFirst: isFirst(target) }, showIn(call))
    return { record: { path: target, before: null, after: sha256(content), offset, bytes }, act, keep }
  })
}

export function copyFile({ source, destination, overwrite }: Transfer, call: FileCall): void {
  change({ op: 'copy', path: destination, from: shownPath(source, call) }, call, (asking) => {
    const target = allowedPath('write', destination, asking, () => readBytes(source, call.context))
    const from = allowedPath('read', source, asking)
    const content = readBytes(source, call.context)
    if (!overwrite) refuseExisting(target, call)
    refuseOther(target, call)
    return wholeWrite(target, inMemory(content), { call, from: shownPath(from, call) })
  })
}

/** Moves a file, folder or link: with a rename if possible, else with a copy and a removal. */
export function moveEntry({ source, destination, overwrite }: Transfer, call: FileCall): void {
  change({ op: 'move', path: destination, from: shownPath(source, call) }, call, (asking) => {
    const from = allowedEntry(source, asking)
    const target = allowedPath('write', destination, asking, () => headAt(entryPath(destination), from))
    allowBelow(from, target, { destination, asking })
    const after = hashOf(from, call)
    if (after === null) throw new BatonError('FILE_FAILED', `there is no file ${shownPath(source, call)} to move`)
    if (!overwrite) refuseExisting(target, call)
    if (from !== target && isInside(from, target)) {
      throw new BatonError('FILE_FAILED', `${shownPath(source, call)} cannot be moved into itself`)
    }
    const record = { path: target, from: shownPath(from, call), before: hashOf(target, call), after }
    return {
      record,
      act: (disk) => entries.moveTo(disk(from), disk(target)),
      keep: () => moveSnapshot({ from, path: target }, showIn(call)),
    }
  })
}

/** Checks each file of a moved folder under its new name, which may be one that must not be written. */
function allowBelow(
  from: string,
  target: string,
  { destination, asking }: { readonly destination: string; readonly asking: FileWriter },
): void {
  const { packs, protections } = asking.context.scope.rights
  if (packs.length + protections.length === 0 || entryStatus(from)?.isDirectory() !== true) return
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const source = join(entry.parentPath, entry.name)
    const below = relative(from, source)
    const [path, named] = [join(target, below), join(destination, below)]
    asking.allow({ kind: 'write', path, named }, () => headAt(path, source))
  }
}

/** The start of a file, or where a link leads to when it is moved to a path. */
function headAt(path: string, entry: string): ReturnType<NewFileContent> {
  const isLink = entryStatus(entry)?.isSymbolicLink() === true
  return isLink ? { linkTo: resolve(dirname(path), readlinkSync(entry)) } : fileHead(entry)
}

/**
 * Removes a file, a link (not its target) or a folder with everything in it. AIPack moves to the trash; here the
 * removal is final. Returns false if it does not exist.
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
      keep: () => deleteSnapshot(target, showIn(call)),
    }
  })
}

/** Creates a folder and its parents. Returns false if it already exists; throws if something else exists there. */
export function makeFolder(path: string, call: FileCall): boolean {
  return change({ op: 'mkdir', path }, call, (asking) => {
    const target = allowedPath('write', path, asking)
    const status = statusAt(target)
    if (status?.kind === 'folder') return undefined
    if (status !== undefined) throw new BatonError('FILE_FAILED', `${shownPath(path, call)} exists and is not a folder`)
    return {
      record: { path: target, before: null, after: emptyFolder },
      act: (disk) => entries.makeFolder(disk(target)),
      keep: () => folderSnapshot(target, showIn(call)),
    }
  })
}

/** Removes an empty folder. Returns false if it does not exist or is not empty. */
export function removeEmptyFolder(path: string, call: FileCall): boolean {
  return change({ op: 'delete', path }, call, (asking) => {
    const target = allowedEntry(path, asking)
    if (statusAt(target)?.kind !== 'folder' || readdirSync(target).length > 0) return undefined
    return {
      record: { path: target, before: emptyFolder, after: null },
      act: (disk) => entries.removeFolder(disk(target)),
      keep: () => deleteSnapshot(target, showIn(call)),
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
      keep: () => modeSnapshot(target, mode, showIn(call)),
    }
  })
}

/** Creates a link to `to`, which is stored verbatim; replaces a file or link. Missing folders are created. */
export function makeLink(path: string, to: string, call: FileCall): void {
  change({ op: 'link', path }, call, (asking) => {
    const target = replacedEntry(path, call, {
      asking,
      content: () => ({ linkTo: resolve(dirname(entryPath(path)), to) }),
    })
    const temporaryName = newTemporaryName()
    return {
      record: { path: target, before: hashOf(target, call), after: sha256(to), temp: temporaryName },
      act: (disk) => entries.makeLink(disk(target), to, temporaryName),
      keep: () => linkSnapshot(target, to, showIn(call)),
    }
  })
}

const emptyFolder = sha256('')
