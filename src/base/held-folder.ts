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
 * A path that was checked may lead somewhere else when it is used: another process can put a link in place of a folder in
 * between. So what changes files opens the folder first, makes sure that it is the one that was checked, and names entries
 * from the open folder on.
 */

/** A folder that is held open. */
export interface HeldFolder {
  /** A path for calls of the system, of an entry by its name. */
  readonly at: (name: string) => string
  /** The names of its entries. */
  readonly names: () => readonly string[]
  /** Works in a folder that it contains, which is no link. */
  readonly inside: <T>(name: string, work: (folder: HeldFolder) => T) => T
}

/** On Linux a folder is opened as a place alone, which needs no right to read it. */
const isLinux = platform() === 'linux'
const pathOnly = isLinux ? 0o10000000 : 0
const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0) | pathOnly

export interface Holding {
  /** Makes the folder, and those above it that are missing. */
  readonly make?: boolean
}

/**
 * Works in a folder (absolute, links resolved), which stays the same folder whatever is put at its path meanwhile. Where
 * the system cannot name entries of an open folder, the path is compared with it each time an entry is named.
 * @throws the error of the system; an Error when the path leads through a link by now, or through a file
 */
export function inFolder<T>(folder: string, work: (folder: HeldFolder) => T, { make = false }: Holding = {}): T {
  return whileOpen({ folder, descriptor: openFolder(folder, make), isChecked: false }, work)
}

/** Works in the folder of a path (absolute, links resolved), and is given a path of its last part. */
export function atEntry<T>(path: string, work: (entry: string) => T, holding?: Holding): T {
  return inFolder(dirname(path), ({ at }) => work(at(basename(path))), holding)
}

interface Opened {
  readonly folder: string
  readonly descriptor: number
  /** It was opened from a folder that is held. */
  readonly isChecked: boolean
}

function whileOpen<T>(opened: Opened, work: (folder: HeldFolder) => T): T {
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

function openedFolder(prefix: string, folder: string): HeldFolder {
  const at = (name: string): string => `${prefix}/${name}`
  return {
    at,
    names: () => readdirSync(prefix),
    inside: (name, work) =>
      whileOpen({ folder: join(folder, name), descriptor: openSync(at(name), folderFlags), isChecked: true }, work),
  }
}

function checkedFolder({ folder, descriptor }: Opened): HeldFolder {
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

/** Where the system says that an open file is; undefined: it cannot say. */
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
  return new Error(`${folder} leads somewhere else by now: a link was put in its path`)
}

/** Errors name paths as they would be without the open folder. */
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
