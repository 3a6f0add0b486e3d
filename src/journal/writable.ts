import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../base/error.ts'

/**
 * Why no file can be made in a folder that need not exist yet; undefined when one can. A folder that is made for the first
 * time is tried, because permissions do not say everything, for example to root.
 */
export function whyUnwritable(folder: string): string | undefined {
  let existing = folder
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  try {
    if (!statSync(existing).isDirectory()) return `${existing} is not a folder`
    accessSync(existing, constants.W_OK | constants.X_OK)
    if (existing !== dirname(folder)) rmdirSync(mkdtempSync(join(existing, '.baton-')))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
