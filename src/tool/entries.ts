import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { hasSystemCode } from '../base/error.ts'
import { addToOwnFile } from '../base/files.ts'
import { atEntry, type OpenFolder, inFolder } from '../base/open-folder.ts'
import { irregular, readRegular } from '../base/regular-file.ts'

/*
 * Changes of entries at paths (absolute, links resolved except for the last part). None of them follows a link that is
 * put into a path in the meantime, not even inside folders that are moved or removed.
 */

/** Flags for opening the entry itself: do not follow links, and do not block on pipes and devices. */
const itself = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | itself

/**
 * Appends to a file, all or nothing: on a full disk, a partial write would otherwise remain. A file with several hard
 * links is replaced by a copy first, so that only this name gets the added content.
 */
export function appendWhole(file: string, content: Uint8Array, offset: number): void {
  atEntry(
    file,
    (entry) => {
      const descriptor = openSync(entry, appending, 0o666)
      try {
        const status = fstatSync(descriptor)
        const other = irregular(status)
        if (other !== undefined) throw new Error(`${file} ${other}`)
        if (status.nlink > 1) addToOwnFile(file, content)
        else addOrNothing(descriptor, entry, { content, offset })
      } finally {
        closeSync(descriptor)
      }
    },
    { make: true },
  )
}

function addOrNothing(
  descriptor: number,
  entry: string,
  { content, offset }: { readonly content: Uint8Array; readonly offset: number },
): void {
  try {
    writeFileSync(descriptor, content)
  } catch (error) {
    const added = readFrom(entry, offset, content.length + 1)
    const isTorn = added.length > 0 && content.length > added.length
    if (isTorn && added.equals(content.subarray(0, added.length))) ftruncateSync(descriptor, offset)
    throw error
  }
}

function readFrom(entry: string, offset: number, most: number): Buffer {
  return readRegular(entry, (descriptor) => {
    const bytes = Buffer.alloc(most)
    return bytes.subarray(0, readSync(descriptor, bytes, 0, most, offset))
  })
}

/** Moves a file, folder or link: with a rename if possible, else with a copy and a removal. */
export function moveTo(from: string, target: string): void {
  inFolder(dirname(from), (source) =>
    inFolder(
      dirname(target),
      (place) => {
        const [name, newName] = [basename(from), basename(target)]
        try {
          renameSync(source.at(name), place.at(newName))
        } catch (error) {
          if (!hasSystemCode(error, 'EXDEV')) throw error
          copyEntry({ folder: source, name }, { folder: place, name: newName })
          removeEntry(source, name)
        }
      },
      { make: true },
    ),
  )
}

interface Entry {
  readonly folder: OpenFolder
  readonly name: string
}

/** Links are copied verbatim. An existing target is replaced unless it is a folder. */
function copyEntry(from: Entry, to: Entry): void {
  const [source, place] = [from.folder.at(from.name), to.folder.at(to.name)]
  const status = lstatSync(source)
  if (lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === false) unlinkSync(place)
  if (status.isSymbolicLink()) symlinkSync(readlinkSync(source), place)
  else if (status.isDirectory()) {
    mkdirSync(place)
    from.folder.inside(from.name, (old) =>
      to.folder.inside(to.name, (made) => {
        for (const name of old.names()) copyEntry({ folder: old, name }, { folder: made, name })
      }),
    )
    setMode(place, status.mode & 0o7777)
  } else if (!status.isFile())
    throw new Error(`${source} is a device or pipe, which cannot be moved to another file system`)
  else copyFileSync(source, place, constants.COPYFILE_EXCL)
}

/**
 * Removes a file, a link (not its target), or a folder with everything in it. A folder is first renamed to a temporary
 * name, so that a killed process leaves it at its path either complete or not at all.
 */
export function remove(path: string, temporaryName?: string): void {
  inFolder(dirname(path), (folder) => {
    const name = basename(path)
    if (temporaryName === undefined || !isRenamed(folder, name, temporaryName)) return removeEntry(folder, name)
    try {
      removeEntry(folder, temporaryName)
    } catch (error) {
      isRenamed(folder, temporaryName, name)
      throw error
    }
  })
}

/** False if it cannot be renamed, for example because it is a mount point. */
function isRenamed({ at }: OpenFolder, name: string, newName: string): boolean {
  try {
    renameSync(at(name), at(newName))
    return true
  } catch {
    return false
  }
}

function removeEntry(folder: OpenFolder, name: string): void {
  if (!lstatSync(folder.at(name)).isDirectory()) return unlinkSync(folder.at(name))
  folder.inside(name, (inner) => {
    for (const one of inner.names()) removeEntry(inner, one)
  })
  rmdirSync(folder.at(name))
}

export function removeFolder(path: string): void {
  atEntry(path, (entry) => rmdirSync(entry))
}

/** Creates a folder and its parents. */
export function makeFolder(path: string): void {
  inFolder(path, () => undefined, { make: true })
}

/** Sets the permission bits of a file or folder. */
export function changeMode(path: string, mode: number): void {
  atEntry(path, (entry) => setMode(entry, mode))
}

function setMode(entry: string, mode: number): void {
  let descriptor: number
  try {
    descriptor = openSync(entry, constants.O_RDONLY | itself)
  } catch (error) {
    // an unreadable file cannot be opened
    if (!hasSystemCode(error, 'EACCES') || lstatSync(entry).isSymbolicLink()) throw error
    return chmodSync(entry, mode)
  }
  try {
    fchmodSync(descriptor, mode)
  } finally {
    closeSync(descriptor)
  }
}

/** Creates a link, with missing parent folders; replaces an existing entry unless it is a folder. */
export function makeLink(path: string, to: string, temporaryName: string): void {
  inFolder(
    dirname(path),
    ({ at }) => {
      symlinkSync(to, at(temporaryName))
      try {
        renameSync(at(temporaryName), at(basename(path)))
      } catch (error) {
        unlinkSync(at(temporaryName))
        throw error
      }
    },
    { make: true },
  )
}
