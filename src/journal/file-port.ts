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

/**
 * Every file operation the journal makes, so that tests can let the K-th one fail. Operations
 * throw or reject with the system error. Folders are made with mode 0700, files with 0600.
 */
export interface FilePort {
  /** Makes a folder and the missing ones above it; the topmost one that was made, undefined when all were there. */
  makeFolder(path: string): string | undefined
  /** Makes a file for appending and opens it. Throws EEXIST when there is one. */
  create(path: string): number
  openToRead(path: string): number
  /** Appends `bytes` from `offset` on; the number of bytes taken, which may be fewer than given. */
  write(descriptor: number, bytes: Uint8Array, offset: number): number
  /** Fills `target` from byte `position` of the file; the number of bytes read, 0 at its end. */
  read(descriptor: number, target: Uint8Array, position: number): Promise<number>
  /** The same at once. */
  readNow(descriptor: number, target: Uint8Array, position: number): number
  close(descriptor: number): void
  syncData(descriptor: number): Promise<void>
  syncDataNow(descriptor: number): void
  /** Makes content written earlier durable, through a descriptor of its own. */
  syncFile(path: string): Promise<void>
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>
  /** Gives a file a second name. Throws EEXIST when that name is taken: exactly one of many callers succeeds. */
  link(from: string, to: string): void
  rename(from: string, to: string): void
  /** Makes a file with the content of another one, which the file system may share. Throws EEXIST when there is one. */
  copy(from: string, to: string): void
  remove(path: string): void
  /** Names in a folder, in no order; empty when there is no such folder. */
  list(path: string): readonly string[]
  /** Size in bytes, undefined when there is no such file. */
  size(path: string): number | undefined
  /** When it was changed last, in milliseconds; undefined when there is no such file. */
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
  // Windows flushes only through a descriptor that may write
  syncFile: (path) => syncThrough(path, 'r+'),
  async syncFolder(path) {
    // Windows has no way to open a folder for this; NTFS journals names itself
    if (process.platform !== 'win32') await syncThrough(path, 'r')
  },
  link: linkSync,
  rename: renameSync,
  copy(from, to) {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    chmodSync(to, 0o600)
  },
  // rmSync loads what it removes whole trees with
  remove: unlinkSync,
  list(path) {
    try {
      return readdirSync(path)
    } catch (error) {
      if (hasSystemCode(error, 'ENOENT')) return []
      throw error
    }
  },
  size: (path) => statSync(path, { throwIfNoEntry: false })?.size,
  modified: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
}

/**
 * Makes a folder and those above it, and gives the first one that was made. One by one from the top: `recursive` of
 * Node 20 never returns below folders like `/proc`, where nothing can be made.
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
