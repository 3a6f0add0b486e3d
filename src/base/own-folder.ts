import { chmodSync, lstatSync, readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from './error.ts'

/*
 * Folders and files that decide what runs, or hold what a user has done: another user of the machine must not have put
 * something there. What is ours is put right; what a link of ours leads to was made for something else, and is left as it is.
 */

const [forOthers, writableByOthers, writableByAll] = [0o077, 0o022, 0o002]

interface Own {
  /** What it is, in messages: `the state folder`. */
  readonly what: string
  readonly hint: string
}

/**
 * Closes a folder that only Baton writes to everybody else, whatever it was made with. Nothing is done where there is none.
 * @throws BatonError UNTRUSTED for one that belongs to another user, or holds what another user could put there
 */
export function closeOwnFolder(folder: string, own: Own): void {
  const found = look(folder, own)
  if (found === undefined) return
  const { status, isLink } = found
  const mode = status.mode & 0o7777
  if (isLink || status.uid !== process.getuid?.()) return refuseOpen(folder, status, own)
  if ((mode & forOthers) === 0) return
  chmodSync(folder, mode & 0o700)
  const planted = (mode & writableByOthers) === 0 ? undefined : foreignEntry(folder)
  if (planted === undefined) return
  // looked at again until it is gone
  chmodSync(folder, mode)
  const hint = 'Others could write there. Look at what it is, remove it, and try again.'
  throw new BatonError('UNTRUSTED', `${planted}, in ${own.what}, belongs to another user`, { hint })
}

/**
 * The same for a file. One that everybody could write is refused, for they may have done so.
 * @throws BatonError UNTRUSTED
 */
export function closeOwnFile(file: string, own: Own): void {
  const found = look(file, own)
  if (found === undefined) return
  const { status, isLink } = found
  refuseOpen(file, status, own)
  if (!isLink && status.uid === process.getuid?.() && (status.mode & forOthers) !== 0) chmodSync(file, 0o600)
}

/**
 * Refuses a file or folder that others could have written, and leaves it as it is: for what users make themselves. A link
 * is followed where it belongs to who it should.
 * @throws BatonError UNTRUSTED
 */
export function refuseOthers(path: string, own: Own): void {
  const found = look(path, own)
  if (found !== undefined) refuseOpen(path, found.status, own)
}

interface Found {
  /** Of what is there, links followed. */
  readonly status: Stats
  readonly isLink: boolean
}

/** Undefined for what is not there, and where files belong to nobody. */
function look(path: string, { what, hint }: Own): Found | undefined {
  if (process.getuid === undefined) return undefined
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (entry === undefined) return undefined
  const status = entry.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : entry
  if (status === undefined) return undefined
  if ([entry, status].some(isForeign)) {
    throw new BatonError('UNTRUSTED', `${what} ${path} belongs to another user`, { hint })
  }
  return { status, isLink: entry.isSymbolicLink() }
}

/** The administrator can do everything anyway. */
function isForeign({ uid }: Stats): boolean {
  return uid !== 0 && uid !== process.getuid?.()
}

function refuseOpen(path: string, { mode }: Stats, { what }: Own): void {
  if ((mode & writableByAll) === 0) return
  throw new BatonError('UNTRUSTED', `everybody may write ${what} ${path}`, {
    hint: `Look at what it holds, then close it: chmod o-w ${path}`,
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
