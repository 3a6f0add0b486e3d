import { closeSync, fchmodSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { newTemporaryName, writeFileAtomic } from '../base/files.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { makeFilePrivate } from '../base/private-folder.ts'
import { type ReadLog, readSource, sourceExists } from '../base/reads.ts'
import { secureDataFolder } from './own-places.ts'

/** A JSON file that Baton writes itself: `{ "version": 1, "KEY": { "NAME": entry, … } }`. */
export interface DataFile<T> {
  readonly key: string
  /** The kind of file, in messages: `a lock of packs`. */
  readonly what: string
  readonly hint: string
  /** Undefined for a value that is not an entry. */
  readonly parse: (value: Json) => T | undefined
}

const version = 1

/**
 * The entries by name; empty if the file does not exist.
 * @throws BatonError CONFIG_INVALID for a file that Baton did not write, FILE_UNREADABLE
 */
export function readDataFile<T>(
  file: string,
  { key, what, hint, parse }: DataFile<T>,
  reads?: ReadLog,
): ReadonlyMap<string, T> {
  if (!sourceExists(file, reads)) return new Map()
  const data = parseJson(readSource(file, reads))
  const entries = isJsonObject(data) && data['version'] === version ? data[key] : undefined
  if (!isJsonObject(entries)) throw damaged(`it has no "${key}" of version ${version}`)
  return new Map(
    Object.entries(entries).map(([name, value]) => {
      const entry = parse(value)
      if (entry === undefined) throw damaged(`its entry "${name}" is invalid`)
      return [name, entry]
    }),
  )

  function parseJson(text: string): Json {
    try {
      return JSON.parse(text) as Json
    } catch (error) {
      throw damaged(messageOf(error))
    }
  }

  function damaged(reason: string): BatonError {
    return new BatonError('CONFIG_INVALID', `${file} is not ${what}: ${reason}`, { place: { file }, hint })
  }
}

/**
 * The same for a file of `writePrivateDataFile`, which decides what is trusted.
 * @throws BatonError UNTRUSTED as well, if another user could have written it
 */
export function readPrivateDataFile<T>(file: string, kind: DataFile<T>, reads?: ReadLog): ReadonlyMap<string, T> {
  secureDataFolder(dirname(file))
  makeFilePrivate(file, { what: kind.what, hint: kind.hint })
  return readDataFile(file, kind, reads)
}

/** Replaces the whole file; entries are sorted by name. */
export function writeDataFile(file: string, key: string, entries: ReadonlyMap<string, unknown>): void {
  writeFileAtomic(file, dataText(key, entries))
}

/**
 * The same for a file that only the user may read or write, whatever the umask is: its folder gets mode 0700, the file
 * 0600.
 * @throws BatonError FILE_FAILED for a link, which would redirect the write; UNTRUSTED for a folder of another user
 */
export function writePrivateDataFile(file: string, key: string, entries: ReadonlyMap<string, unknown>): void {
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    const hint = 'Replace the link with the file itself.'
    throw new BatonError('FILE_FAILED', `${file} is a link; Baton does not write through links here`, {
      place: { file },
      hint,
    })
  }
  secureDataFolder(folder)
  const temporary = join(folder, newTemporaryName())
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    fchmodSync(descriptor, 0o600)
    writeFileSync(descriptor, dataText(key, entries))
    closeSync(descriptor)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function dataText(key: string, entries: ReadonlyMap<string, unknown>): string {
  const sorted = [...entries].toSorted(([left], [right]) => compareBytes(left, right))
  return `${JSON.stringify({ version, [key]: Object.fromEntries(sorted) }, null, 2)}\n`
}
