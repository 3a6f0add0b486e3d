import { entryStatus } from './entries.ts'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { hasSystemCode } from './error.ts'

/*
 * A path that was checked may lead somewhere else by the time it is used: another process can replace a folder with a
 * link in between. So code that changes files opens the folder first, verifies that it is the one that was checked, and
 * addresses entries relative to the open folder.
 */

/** A folder that is held open. */
export interface OpenFolder {
  /** A path of an entry for system calls, by its name. */
  readonly at: (name: string) => string
  /** The names of its entries. */
  readonly names: () => readonly string[]
  /** Works in a subfolder, which must not be a link. */
  readonly inside: <T>(name: string, work: (folder: OpenFolder) => T) => T
}

/** On Linux a folder is opened with O_PATH, which needs no read permission. */
const isLinux = platform() === 'linux'
const pathOnly = isLinux ? 0o10000000 : 0
const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0) | pathOnly

export interface Holding {
  /** Creates the folder and its missing parents. */
  readonly make?: boolean
}

/**
 * Works in a folder (absolute, links resolved), which stays the same folder even if its path is replaced meanwhile. If
 * the system cannot address entries of an open folder, the path is compared with it each time an entry is named.
 * @throws the system's error; an Error if the path now leads through a link or through a file
 */
export function inFolder<T>(folder: string, work: (folder: OpenFolder) => T, { make = false }: Holding = {}): T {
  return whileOpen({ folder, descriptor: openFolder(folder, make), isChecked: false }, work)
}

/** Works in the parent folder of a path (absolute, links resolved); `work` gets a path for its last part. */
export function atEntry<T>(path: string, work: (entry: string) => T, holding?: Holding): T {
  return inFolder(dirname(path), ({ at }) => work(at(basename(path))), holding)
}

interface Opened {
  readonly folder: string
  readonly descriptor: number
  /** Whether it was opened from a held folder. */
  readonly isChecked: boolean
}

function whileOpen<T>(opened: Opened, work: (folder: OpenFolder) => T): T {
  const { folder, descriptor } = opened
  try {
    const prefix = `/proc/self/fd/${descriptor}`
    const place = isLinux ? linkAt(prefix) : undefined
    if (place === undefined) return work(checkedFolder(opened))
    if (place !== folder && !opened.isChecked) throw elsewhere(folder)
    return withNames(prefix, folder, () => work(openedFolder(prefix, folder)))
  } finally {
    closeSync(descriptor)
  }
}

function openedFolder(prefix: string, folder: string): OpenFolder {
  const at = (name: string): string => `${prefix}/${name}`
  return {
    at,
    names: () => readdirSync(prefix),
    inside: (name, work) =>
      whileOpen({ folder: join(folder, name), descriptor: openSync(at(name), folderFlags), isChecked: true }, work),
  }
}

function checkedFolder({ folder, descriptor }: Opened): OpenFolder {
  const check = (): void => refuseOther(folder, descriptor)
  check()
  return {
    at(name) {
      check()
      return join(folder, name)
    },
    names() {
      check()
      return readdirSync(folder)
    },
    inside(name, work) {
      check()
      return inFolder(join(folder, name), work)
    },
  }
}

function openFolder(folder: string, make: boolean): number {
  try {
    return openSync(folder, folderFlags)
  } catch (error) {
    if (!hasSystemCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error
    const status = entryStatus(folder)
    if (status?.isSymbolicLink() === true) throw elsewhere(folder)
    if (status !== undefined) throw new Error(`${folder} is not a folder`, { cause: error })
    if (!make || dirname(folder) === folder) throw error
    return atEntry(
      folder,
      (entry) => {
        makeOne(entry)
        return openSync(entry, folderFlags)
      },
      { make },
    )
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if (!hasSystemCode(error, 'EEXIST')) throw error
  }
}

/** The current path of an open file according to the system; undefined if the system cannot tell. */
function linkAt(descriptorPath: string): string | undefined {
  try {
    return readlinkSync(descriptorPath)
  } catch {
    return undefined
  }
}

function refuseOther(folder: string, descriptor: number): void {
  const opened = fstatSync(descriptor, { bigint: true })
  const present = lstatSync(folder, { bigint: true })
  if (realpathSync(folder) !== folder || opened.ino !== present.ino || opened.dev !== present.dev) {
    throw elsewhere(folder)
  }
}

function elsewhere(folder: string): Error {
  return new Error(`${folder} now leads somewhere else: a link was put in its path`)
}

/** Replaces the path of the open folder by its real path in errors. */
function withNames<T>(prefix: string, folder: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes(prefix)) throw error
    const { code, path, cause } = error as Error & { readonly code?: unknown; readonly path?: unknown }
    throw Object.assign(new Error(error.message.replaceAll(prefix, folder), { cause }), {
      ...(code === undefined ? {} : { code }),
      ...(typeof path === 'string' ? { path: path.replace(prefix, folder) } : {}),
    })
  }
}
