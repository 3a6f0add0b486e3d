import { accessSync, constants, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { existingAbove } from '../base/entries.ts'
import { messageOf } from '../base/error.ts'

/**
 * Why files cannot be created in a folder that need not exist yet; undefined if they can. Permissions do not tell
 * everything, for example for root, so a folder is created and removed as a test. `isTried` false: not tested if the
 * folder above it exists, as for most runs.
 */
export function whyUnwritable(
  folder: string,
  { isTried = false }: { readonly isTried?: boolean } = {},
): string | undefined {
  const existing = existingAbove(folder)
  try {
    if (!statSync(existing).isDirectory()) return `${existing} is not a folder`
    accessSync(existing, constants.W_OK | constants.X_OK)
    if (isTried || existing !== dirname(folder)) rmdirSync(mkdtempSync(join(existing, '.baton-')))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
