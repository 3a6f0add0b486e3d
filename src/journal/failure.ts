import { basename, dirname } from 'node:path'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'

/** The error that ends a run whose journal cannot be written. Names the folder. */
export function journalFailure(folder: string, error: unknown): BatonError {
  if (isBatonError(error)) return error
  return new BatonError('JOURNAL_FAILED', `the journal in ${folder} cannot be written: ${messageOf(error)}`, {
    hint: adviceFor(error, 'set a different folder with dir in [runs]'),
    cause: error,
  })
}

/**
 * Whether an error says that a folder is not ours to write in: it is read-only, cannot exist, or belongs to another
 * user. Any other error is a disk or a limit that fails.
 */
export function isForbidden(error: unknown): boolean {
  if (isBatonError(error)) return error.code === 'UNTRUSTED' || (error.cause !== undefined && isForbidden(error.cause))
  return hasSystemCode(error, 'EROFS', 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR')
}

/** What to throw when the file of a record cannot be read: it names the file. One that does not exist is the caller's. */
export function recordUnreadable(file: string, error: unknown): unknown {
  if (isBatonError(error) || hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return error
  return new BatonError('FILE_FAILED', `the record ${file} cannot be read: ${messageOf(error)}`, {
    hint: 'Make it yours and readable, name another run, or remove the folder of this run.',
    cause: error,
  })
}

/** The error for a run folder that cannot be removed. */
export function removalFailure(folder: string, error: unknown): BatonError {
  const runs = dirname(folder)
  return new BatonError('FILE_FAILED', `${basename(folder)} cannot be removed: ${messageOf(error)}`, {
    hint: isForbidden(error) ? `Make ${runs} and its contents writable.` : `Check ${runs}.`,
    cause: error,
  })
}

/** What to do about a system error. `instead`: the other way, as an order without its full stop. */
export function adviceFor(error: unknown, instead: string): string {
  if (hasSystemCode(error, 'ENOSPC', 'EDQUOT')) return `Free some space there, or ${instead}.`
  if (hasSystemCode(error, 'EROFS', 'EACCES', 'EPERM', 'ENOTDIR')) return `Make the folder writable, or ${instead}.`
  if (hasSystemCode(error, 'EMFILE', 'ENFILE')) return 'Too many files are open: raise the limit (ulimit -n).'
  return `Check the disk, or ${instead}.`
}
