import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { type LockedPack, lockFileOf, readLock } from './lock-file.ts'
import { contentDigest, readPackFiles } from './pack-files.ts'
import { manifestName, type PackManifest, readPackManifest } from './pack-manifest.ts'
import { entryExists } from './put-in-place.ts'
import { originText } from './source.ts'

/** The state of a pack's folder. */
export interface PresentPack {
  readonly folder: string
  /** `none`: nothing is there. `foreign`: it was not installed by Baton. */
  readonly state: 'none' | 'locked' | 'changed' | 'foreign'
  readonly version: string | undefined
  readonly locked: LockedPack | undefined
}

/** Compares what is installed under a name with the lock. */
export async function presentPack(
  identity: string,
  { root, lockFile }: { readonly root: string; readonly lockFile: string },
): Promise<PresentPack> {
  const folder = join(root, ...identity.split('@'))
  const locked = readLock(lockFile).get(identity)
  if (!entryExists(folder)) return { folder, state: 'none', version: undefined, locked }
  const version = (await manifestIn(folder).catch(() => undefined))?.version
  const state = locked === undefined ? 'foreign' : integrityOf(folder, locked)
  return { folder, state, version, locked }
}

/** What `baton list` shows of a pack in addition to its agents. */
export interface PackStatus {
  readonly version: string | undefined
  /** Where it came from; undefined if it was not installed. */
  readonly source: string | undefined
  readonly commit: string | undefined
  /** Whether it matches the lock; undefined if it is not in a lock. */
  readonly integrity: 'locked' | 'changed' | undefined
}

/** The status of a pack in the folder of packs `root`. Whatever cannot be read counts as missing. */
export async function packStatus(
  { identity, dir }: { readonly identity: string; readonly dir: string },
  root: string,
): Promise<PackStatus> {
  // most hand-written packs have none
  const manifest = await manifestIn(dir).catch(() => undefined)
  const locked = lockedIn(root, identity)
  if (locked === undefined) {
    const { source, commit } = manifest?.installed ?? {}
    return { version: manifest?.version, source, commit, integrity: undefined }
  }
  const { origin } = locked
  return {
    version: manifest?.version ?? locked.version,
    source: originText(origin),
    commit: origin.kind === 'git' ? origin.commit : undefined,
    integrity: integrityOf(dir, locked),
  }
}

/**
 * Finds packs whose files differ from their lock, each once, at its first use. It reads all files of the pack. Packs
 * without an entry in a lock, and locks that cannot be read, are ignored.
 */
export function createChangeFinder(): (pack: PackInRoot) => boolean {
  const seen = new Set<string>()
  return ({ identity, dir, root }) => {
    if (seen.has(dir)) return false
    seen.add(dir)
    const locked = lockedIn(root, identity)
    return locked !== undefined && integrityOf(dir, locked) === 'changed'
  }
}

/** A pack with the folder of packs that it is in. */
export interface PackInRoot {
  readonly identity: string
  readonly dir: string
  /** The folder of packs that contains it. */
  readonly root: string
}

function lockedIn(root: string, identity: string): LockedPack | undefined {
  const lockFile = lockFileOf(root)
  return lockFile === undefined ? undefined : ifReadable(() => readLock(lockFile))?.get(identity)
}

/** A link, or a folder that is not an installable pack, is a change. */
function integrityOf(folder: string, { digest }: LockedPack): 'locked' | 'changed' {
  const files = lstatSync(folder).isSymbolicLink() ? undefined : ifReadable(() => readPackFiles(folder))
  return files !== undefined && contentDigest(files) === digest ? 'locked' : 'changed'
}

function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

async function manifestIn(folder: string): Promise<PackManifest> {
  const file = join(folder, manifestName)
  refuseEscape(file, { within: folder, cwd: folder })
  return readPackManifest(readSourceFile(file), file)
}
