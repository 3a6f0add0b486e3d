import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fsync,
  linkSync,
  mkdirSync,
  openSync,
  read,
  readSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { hasSystemCode } from '../base/error.ts'
import { recordUnreadable } from './failure.ts'

/**
 * Every file operation of the journal, so that tests can make the K-th one fail. Operations throw or reject with the
 * system error. Folders are created with mode 0700, files with 0600.
 */
export interface FilePort {
  /** Creates a folder and its missing parents. Returns the topmost one it created, undefined if all existed. */
  makeFolder(path: string): string | undefined
  /** Creates a file for appending and opens it. Throws EEXIST if it exists. */
  create(path: string): number
  openToRead(path: string): number
  /** Appends `bytes` from `offset` on. Returns the number of bytes written, which may be less than given. */
  write(descriptor: number, bytes: Uint8Array, offset: number): number
  /** Fills `target` from byte `position` of the file. Returns the number of bytes read, 0 at its end. */
  read(descriptor: number, target: Uint8Array, position: number): Promise<number>
  /** The synchronous version of `read`. */
  readNow(descriptor: number, target: Uint8Array, position: number): number
  close(descriptor: number): void
  syncData(descriptor: number): Promise<void>
  syncDataNow(descriptor: number): void
  /** Makes content that was written earlier durable, through a separate descriptor. */
  syncFile(path: string): Promise<void>
  /** Makes the entries of a folder durable. */
  syncFolder(path: string): Promise<void>
  /** Gives a file a second name. Throws EEXIST if that name is taken: exactly one of many callers succeeds. */
  link(from: string, to: string): void
  rename(from: string, to: string): void
  /** Copies a file; the file system may share the content. Throws EEXIST if the target exists. */
  copy(from: string, to: string): void
  remove(path: string): void
  /** The names in a folder, unordered; empty if the folder does not exist. */
  list(path: string): readonly string[]
  /** Size in bytes, undefined if the file does not exist. */
  size(path: string): number | undefined
  /** Time of the last change, in milliseconds; undefined if the file does not exist. */
  modified(path: string): number | undefined
}

const readAsync = promisify(read)
const syncDataAsync = promisify(fdatasync)
const syncAsync = promisify(fsync)

async function syncThrough(path: string, flags: 'r' | 'r+'): Promise<void> {
  const descriptor = openSync(path, flags)
  try {
    await syncAsync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The real file system. */
export const nodeFiles: FilePort = {
  makeFolder: makeFolders,
  create: (path) => openSync(path, 'ax', 0o600),
  openToRead: (path) => openSync(path, 'r'),
  write: (descriptor, bytes, offset) => writeSync(descriptor, bytes, offset),
  async read(descriptor, target, position) {
    const { bytesRead } = await readAsync(descriptor, target, 0, target.length, position)
    return bytesRead
  },
  readNow: (descriptor, target, position) => readSync(descriptor, target, 0, target.length, position),
  close: closeSync,
  syncData: (descriptor) => syncDataAsync(descriptor),
  syncDataNow: fdatasyncSync,
  // Windows flushes only through a descriptor with write access
  syncFile: (path) => syncThrough(path, 'r+'),
  async syncFolder(path) {
    // Windows cannot open a folder for this; NTFS journals names itself
    if (process.platform !== 'win32') await syncThrough(path, 'r')
  },
  link: linkSync,
  rename: renameSync,
  copy(from, to) {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    chmodSync(to, 0o600)
  },
  // rmSync loads its code for whole trees
  remove: unlinkSync,
  list(path) {
    try {
      return readdirSync(path)
    } catch (error) {
      if (hasSystemCode(error, 'ENOENT')) return []
      throw recordUnreadable(path, error)
    }
  },
  size: (path) => statSync(path, { throwIfNoEntry: false })?.size,
  modified: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
}

/**
 * Creates a folder and its missing parents, and returns the first one created. One by one from the top: with
 * `recursive`, Node 20 never returns below folders like `/proc`, where nothing can be created.
 */
function makeFolders(path: string): string | undefined {
  if (existsSync(path)) return undefined
  const above = makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
    return above ?? path
  } catch (error) {
    if (hasSystemCode(error, 'EEXIST')) return above
    throw error
  }
}
