import { basename, dirname } from 'node:path'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'

/** The error that ends a run whose journal cannot be written. Names the folder. */
export function journalFailure(folder: string, error: unknown): BatonError {
  if (isBatonError(error)) return error
  return new BatonError('JOURNAL_FAILED', `the journal in ${folder} cannot be written: ${messageOf(error)}`, {
    hint: adviceFor(error),
    cause: error,
  })
}

/** The error for a run folder that cannot be removed. */
export function removalFailure(folder: string, error: unknown): BatonError {
  const runs = dirname(folder)
  const isForbidden = hasSystemCode(error, 'EROFS', 'EACCES', 'EPERM')
  return new BatonError('FILE_FAILED', `${basename(folder)} cannot be removed: ${messageOf(error)}`, {
    hint: isForbidden ? `Make ${runs} and its contents writable.` : `Check ${runs}.`,
    cause: error,
  })
}

function adviceFor(error: unknown): string {
  if (hasSystemCode(error, 'ENOSPC', 'EDQUOT'))
    return 'Free some space there, or set a different folder with dir in [runs].'
  if (hasSystemCode(error, 'EROFS', 'EACCES', 'EPERM', 'ENOTDIR')) {
    return 'Make the folder writable, or set a different folder with dir in [runs].'
  }
  if (hasSystemCode(error, 'EMFILE', 'ENFILE')) return 'Too many files are open: raise the limit (ulimit -n).'
  return 'Check the disk, or set a different folder with dir in [runs].'
}
