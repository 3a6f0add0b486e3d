import { accessSync, constants, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { existingAbove } from '../base/entries.ts'
import { messageOf } from '../base/error.ts'

/**
 * Why no file can be made in a folder that need not exist yet; undefined when one can. Permissions do not say everything, for
 * example to root: a folder is made and removed. `isTried` false: not where the folder above it exists, as for most runs.
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
