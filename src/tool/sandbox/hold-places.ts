import { entryStatus } from '../../base/entries.ts'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../../base/error.ts'
import { holdingEntry } from '../../base/held-place.ts'
import { leaveFolder, useFolder } from './janitor.ts'

export interface HeldPlaces {
  /** Paths to bind read-only in the sandbox. Absolute. */
  readonly held: readonly string[]
  readonly release: () => void
}

/**
 * Creates placeholders at paths that do not exist, so that the sandbox can mount them read-only: a path that does not
 * exist cannot be protected. If the folder is not writable, nothing can be created there anyway.
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

/**
 * If something else has been created there in the meantime, that is protected as well. Another process that holds the
 * place may release it at any time.
 */
function makeHeld(path: string): void {
  try {
    mkdirSync(join(path, holdingEntry(process.pid)), { recursive: true })
  } catch (error) {
    if (hasSystemCode(error, 'EACCES', 'EROFS', 'ENOTDIR', 'EEXIST', 'EPERM')) return
    throw new BatonError('SANDBOX', `${path} cannot be protected from programs: ${messageOf(error)}`, { cause: error })
  }
}
