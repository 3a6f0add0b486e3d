import { chmodSync, lstatSync, readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { entryStatus } from './entries.ts'
import { BatonError, messageOf } from './error.ts'

/*
 * Folders and files that decide what runs, or record what a user has done: another user of the machine must not be able
 * to put anything there. Permissions of our own entries are fixed; the target of a link was made for something else,
 * and is left unchanged.
 */

const [forOthers, writableByOthers, writableByAll] = [0o077, 0o022, 0o002]

interface Own {
  /** What it is, in messages: `the state folder`. */
  readonly what: string
  readonly hint: string
}

/**
 * Removes all access of others to a folder that only Baton writes, whatever mode it was created with. Does nothing if
 * the folder does not exist.
 * @throws BatonError UNTRUSTED if it belongs to another user, or contains entries that another user could have put
 * there
 */
export function makeFolderPrivate(folder: string, own: Own): void {
  const found = look(folder, own)
  if (found === undefined) return
  const { status, isLink } = found
  const mode = status.mode & 0o7777
  if (isLink || status.uid !== process.getuid?.()) return refuseOpen(folder, status, own)
  if ((mode & forOthers) === 0) return
  chmodSync(folder, mode & 0o700)
  const planted = (mode & writableByOthers) === 0 ? undefined : foreignEntry(folder)
  if (planted === undefined) return
  // restored, so that the next call checks again until the entry is gone
  chmodSync(folder, mode)
  const hint = 'Other users could write there. Check what it is, remove it, and try again.'
  throw new BatonError('UNTRUSTED', `${planted}, in ${own.what}, belongs to another user`, { hint })
}

/**
 * Like `makeFolderPrivate`, for a file. A file that everyone could write is refused, because its content may be theirs.
 * @throws BatonError UNTRUSTED
 */
export function makeFilePrivate(file: string, own: Own): void {
  const found = look(file, own)
  if (found === undefined) return
  const { status, isLink } = found
  refuseOpen(file, status, own)
  if (!isLink && status.uid === process.getuid?.() && (status.mode & forOthers) !== 0) chmodSync(file, 0o600)
}

/**
 * Refuses a file or folder that others could have written, and leaves it unchanged: for files that users create
 * themselves. A link is followed if both it and its target belong to the right user.
 * @throws BatonError UNTRUSTED
 */
export function refuseForeignPath(path: string, own: Own): void {
  const found = look(path, own)
  if (found !== undefined) refuseOpen(path, found.status, own)
}

interface Found {
  /** Of the entry, links followed. */
  readonly status: Stats
  readonly isLink: boolean
}

/** Undefined if it does not exist, and on systems where files have no owner. */
function look(path: string, { what, hint }: Own): Found | undefined {
  if (process.getuid === undefined) return undefined
  let entry: Stats | undefined
  let status: Stats | undefined
  try {
    entry = entryStatus(path)
    status = entry?.isSymbolicLink() === true ? statSync(path, { throwIfNoEntry: false }) : entry
  } catch (error) {
    throw new BatonError('FILE_UNREADABLE', `${what} ${path} cannot be examined: ${messageOf(error)}`, {
      hint,
      cause: error,
    })
  }
  if (entry === undefined || status === undefined) return undefined
  if ([entry, status].some(isForeign)) {
    throw new BatonError('UNTRUSTED', `${what} ${path} belongs to another user`, { hint })
  }
  return { status, isLink: entry.isSymbolicLink() }
}

/** Root can do everything anyway. */
function isForeign({ uid }: Stats): boolean {
  return uid !== 0 && uid !== process.getuid?.()
}

function refuseOpen(path: string, { mode }: Stats, { what }: Own): void {
  if ((mode & writableByAll) === 0) return
  throw new BatonError('UNTRUSTED', `${what} ${path} is writable by everyone`, {
    hint: `Check its content, then remove the write permission of others: chmod o-w ${path}`,
  })
}

/** The first entry, at any depth, that belongs to another user. */
function foreignEntry(folder: string): string | undefined {
  for (const name of readdirSync(folder)) {
    const entry = join(folder, name)
    const status = lstatSync(entry, { throwIfNoEntry: false })
    if (status === undefined) continue
    if (isForeign(status)) return entry
    const deeper = status.isDirectory() ? foreignEntry(entry) : undefined
    if (deeper !== undefined) return deeper
  }
  return undefined
}
