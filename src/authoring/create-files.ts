import { lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import type { StarterFile } from './starter.ts'

/**
 * Writes new files, and the folders they need. None is written when one of them exists; when a write fails, those
 * already made are removed.
 * @throws BatonError USAGE naming the file that exists, FILE_FAILED for a file that cannot be written
 */
export function createFiles(files: readonly StarterFile[]): void {
  for (const { path } of files) if (exists(path)) throw alreadyThere(path)
  const made: string[] = []
  for (const file of files) {
    try {
      mkdirSync(dirname(file.path), { recursive: true })
      writeFileSync(file.path, file.text, { flag: 'wx' })
      made.push(file.path)
    } catch (error) {
      for (const path of made) rmSync(path, { force: true })
      throw failure(file.path, error)
    }
  }
}

/** Also for a link that leads nowhere: writing through it would make a file elsewhere. */
function exists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    return !hasSystemCode(error, 'ENOENT', 'ENOTDIR')
  }
}

function failure(path: string, error: unknown): BatonError {
  if (hasSystemCode(error, 'EEXIST') && exists(path)) return alreadyThere(path)
  return new BatonError('FILE_FAILED', `${path} cannot be written: ${messageOf(error)}`, {
    hint: 'Check the folder, and that you may write there.',
    cause: error,
  })
}

/** The error for something that `baton new` and `baton init` would have to replace. */
export function alreadyThere(path: string): BatonError {
  return new BatonError('USAGE', `${path} exists already`, {
    hint: 'Nothing is ever overwritten: choose another name, or remove it first.',
  })
}
