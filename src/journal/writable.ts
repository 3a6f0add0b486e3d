import { accessSync, constants, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { existingAbove } from '../base/entries.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { adviceFor } from './failure.ts'

/**
 * Makes sure that runs can be recorded in a folder that need not exist yet. Permissions do not tell everything, for
 * example for root, so a folder is created and removed as a test. `isTried` false: not tested if the folder above it
 * exists, as for most runs.
 * @throws BatonError JOURNAL_FAILED, whose cause is the system error
 */
export function checkWritable(folder: string, { isTried = false }: { readonly isTried?: boolean } = {}): void {
  const existing = existingAbove(folder)
  try {
    if (!statSync(existing).isDirectory()) {
      throw Object.assign(new Error(`${existing} is not a folder`), { code: 'ENOTDIR' })
    }
    accessSync(existing, constants.W_OK | constants.X_OK)
    if (isTried || existing !== dirname(folder)) rmdirSync(mkdtempSync(join(existing, '.baton-')))
  } catch (error) {
    throw new BatonError('JOURNAL_FAILED', `no file can be created in ${folder} (${messageOf(error)})`, {
      hint: adviceFor(error, 'set a different folder with dir in [runs]'),
      cause: error,
    })
  }
}
