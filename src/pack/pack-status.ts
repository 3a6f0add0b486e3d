import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { manifestName } from './digest.ts'
import { digestOf } from './install.ts'
import { lockFileOf, type LockedPack, readLock } from './lock-file.ts'
import { originText } from './origin.ts'
import { type PackManifest, readPackManifest } from './pack-manifest.ts'

/** What `baton list` says of a pack besides its agents. */
export interface PackStatus {
  readonly version: string | undefined
  /** Where it came from; undefined when it was not installed. */
  readonly source: string | undefined
  readonly commit: string | undefined
  /** Whether it is what the lock names; undefined when none does. */
  readonly integrity: 'locked' | 'changed' | undefined
}

/** Looks at a pack in the folder of packs `root`. What cannot be read says nothing. */
export async function packStatus(
  { identity, dir }: { readonly identity: string; readonly dir: string },
  root: string,
): Promise<PackStatus> {
  const manifest = await ignoring(() => manifestOf(dir))
  const locked = await ignoring(async () => lockedIn(root, identity))
  if (locked === undefined) {
    const { source, commit } = manifest?.installed ?? {}
    return { version: manifest?.version, source, commit, integrity: undefined }
  }
  const { origin } = locked
  return {
    version: manifest?.version ?? locked.version,
    source: originText(origin),
    commit: origin.kind === 'git' ? origin.commit : undefined,
    integrity: digestOf(dir) === locked.digest ? 'locked' : 'changed',
  }
}

function lockedIn(root: string, identity: string): LockedPack | undefined {
  const lockFile = lockFileOf(root)
  return lockFile === undefined ? undefined : readLock(lockFile).get(identity)
}

async function manifestOf(dir: string): Promise<PackManifest | undefined> {
  const file = join(dir, manifestName)
  try {
    return await readPackManifest(readFileSync(file, 'utf8'), file)
  } catch (error) {
    // most packs by hand have none
    if (!isBatonError(error)) return undefined
    throw error
  }
}

async function ignoring<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}
