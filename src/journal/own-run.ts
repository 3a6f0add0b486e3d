import { basename } from 'node:path'
import { BatonError } from '../base/error.ts'
import { closeOwnFolder } from '../base/own-folder.ts'
import { glance } from './glance.ts'
import type { SigningKey } from './signing.ts'
import { isSignedRun } from './source.ts'

/** Whether this installation has recorded a run, as far as it has recorded how it was started. */
export async function isOwnRun(folder: string, key: SigningKey): Promise<boolean> {
  if (await isSignedRun(folder, key)) return true
  // a process that was killed at once has left nothing that could be believed
  return (await glance(folder))?.start === undefined
}

const ownRun = { what: 'the folder of the run', hint: 'Run the file again.' }

/**
 * Refuses a run that somebody else has recorded: what it holds would be carried out. The folder of
 * one's own is closed to others. `what`: what is not done with it.
 * @throws BatonError UNTRUSTED
 */
export async function refuseForeign(folder: string, key: SigningKey, what: string): Promise<void> {
  if (await isOwnRun(folder, key)) return closeOwnFolder(folder, ownRun)
  throw new BatonError(
    'UNTRUSTED',
    `run ${basename(folder)} was not recorded by this installation: it is not ${what}`,
    {
      hint: 'Somebody else or an earlier version has recorded it, or the key of this installation was lost since. Look at it with baton runs show, and run the file again.',
    },
  )
}
