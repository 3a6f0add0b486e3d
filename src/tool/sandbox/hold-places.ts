import { entryStatus } from '../../base/entries.ts'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../../base/error.ts'
import { holdingEntry } from '../../base/held-place.ts'
import { leaveFolder, useFolder } from './janitor.ts'

export interface HeldPlaces {
  /** What can be bound read-only in a box. Absolute. */
  readonly held: readonly string[]
  readonly release: () => void
}

/**
 * Holds names at which nothing is, so that a box has something there that it cannot change: a name that is not there cannot
 * be forbidden. Where the folder cannot be written, nobody makes anything there anyway.
 */
export function holdPlaces(paths: readonly string[]): HeldPlaces {
  const used: string[] = []
  const held: string[] = []
  const release = (): void => {
    for (const path of used.splice(0)) leaveFolder(path)
  }
  try {
    for (const path of paths) {
      useFolder(path)
      used.push(path)
      makeHeld(path)
      if (entryStatus(path) !== undefined) held.push(path)
    }
    return { held, release }
  } catch (error) {
    release()
    throw error
  }
}

/** What somebody else has put there meanwhile is held as well. Another process that holds it may let go at any time. */
function makeHeld(path: string): void {
  try {
    mkdirSync(join(path, holdingEntry(process.pid)), { recursive: true })
  } catch (error) {
    if (hasSystemCode(error, 'EACCES', 'EROFS', 'ENOTDIR', 'EEXIST', 'EPERM')) return
    throw new BatonError('SANDBOX', `${path} cannot be kept from programs: ${messageOf(error)}`, { cause: error })
  }
}
