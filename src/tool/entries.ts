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
import { atEntry, type HeldFolder, inFolder } from '../base/held-folder.ts'
import { irregular, readRegular } from '../base/regular-file.ts'

/*
 * Changes of what stands at paths (absolute, links resolved but for the last part). None of them follows a link that is put
 * into a path meanwhile, also inside of folders that are moved or removed.
 */

/** Of what is changed itself: links are not followed, and nothing that is no file is waited for. */
const itself = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | itself

/**
 * Adds to the end of a file, or nothing: a disk that fills up takes a part of it, which would stand there for good. A
 * file that has other names becomes a file of its own, so that only this one gets what is added.
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

/** Moves a file, folder or link: by the file system's own move where possible, else by a copy and a removal. */
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
  readonly folder: HeldFolder
  readonly name: string
}

/** Links are copied as they are written. What stands at the place is replaced when it is no folder. */
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
    throw new Error(`${source} is a device or pipe, which is not moved to another file system`)
  else copyFileSync(source, place, constants.COPYFILE_EXCL)
}

/**
 * Removes a file, a link (not what it leads to), or a folder with all that is in it. A folder is given a temporary name
 * first: a process that is killed leaves it whole or not at all at its path.
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

/** False: it cannot be renamed, as a folder that something is mounted at. */
function isRenamed({ at }: HeldFolder, name: string, newName: string): boolean {
  try {
    renameSync(at(name), at(newName))
    return true
  } catch {
    return false
  }
}

function removeEntry(folder: HeldFolder, name: string): void {
  if (!lstatSync(folder.at(name)).isDirectory()) return unlinkSync(folder.at(name))
  folder.inside(name, (inner) => {
    for (const one of inner.names()) removeEntry(inner, one)
  })
  rmdirSync(folder.at(name))
}

/** Removes a folder that has nothing in it. */
export function removeFolder(path: string): void {
  atEntry(path, (entry) => rmdirSync(entry))
}

/** Makes a folder and those above it. */
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
    // what may not be read cannot be opened
    if (!hasSystemCode(error, 'EACCES') || lstatSync(entry).isSymbolicLink()) throw error
    return chmodSync(entry, mode)
  }
  try {
    fchmodSync(descriptor, mode)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes a link in place of what stands at the path, unless that is a folder, and the folders above it. */
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
