import { lstatSync, readFileSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { BatonError, isBatonError } from '../base/error.ts'
import { isInside } from '../base/files.ts'
import { isAgreed, noteAgreed } from './agreed.ts'
import { type Capabilities, isWider } from './capabilities.ts'
import { contentDigest, manifestName } from './digest.ts'
import type { FetchedPack } from './fetch-pack.ts'
import { withInstalled } from './installed-table.ts'
import { type LockedPack, lockFileOf, readLock, writeLocked } from './lock-file.ts'
import { isSameOrigin, originText, type PackOrigin } from './origin.ts'
import { readPackFiles } from './pack-files.ts'
import { type PackManifest, readPackManifest } from './pack-manifest.ts'
import { isThere, putInPlace } from './put-in-place.ts'
import { compareToInstalled, isInstallable } from './version-gate.ts'

/** Where packs are installed. */
export interface InstallPlace {
  /** Holds them as `<namespace>/<name>`. */
  readonly root: string
  readonly lockFile: string
  /** What the user of this machine has agreed to: see `agreedFile`. */
  readonly agreedFile: string
  /** Set when it is a workspace's: then paths below it are locked as relative ones. */
  readonly workspace: string | undefined
}

/** The place for packs below a folder named `packs`. `workspace` is given when it is a workspace's. */
export function installPlace(
  root: string,
  { agreedFile, workspace }: { readonly agreedFile: string; readonly workspace?: string },
): InstallPlace {
  const lockFile = lockFileOf(root)
  if (lockFile === undefined) throw new Error(`${root} is not for packs`)
  return { root, lockFile, agreedFile, workspace }
}

/** What stands in the folder of a pack now. */
export interface PresentPack {
  readonly folder: string
  /** Undefined when nothing is there. */
  readonly state: 'none' | 'locked' | 'changed' | 'foreign'
  readonly version: string | undefined
  readonly locked: LockedPack | undefined
}

/** What an installation comes to, before anything is written. */
export type InstallPlan =
  | { readonly kind: 'up to date'; readonly present: PresentPack }
  | {
      readonly kind: 'install'
      readonly present: PresentPack
      /** Why a person has to agree; undefined when what was agreed to covers it. */
      readonly asks: 'new' | 'wider' | 'source' | undefined
      /** What was granted before. */
      readonly granted: { readonly capabilities: Capabilities | undefined } | undefined
    }

/**
 * Decides what becomes of a fetched pack (spec/aipack.md 7.3): newer ones replace, the same one stays, older ones and
 * changed folders are replaced by force only.
 * @throws BatonError USAGE saying why not
 */
export async function planInstall(
  pack: FetchedPack,
  place: InstallPlace,
  { force }: { readonly force: boolean },
): Promise<InstallPlan> {
  const { manifest, digest, origin } = pack
  const present = await presentPack(manifest.identity, place)
  if (!force) {
    if (!isInstallable(manifest.version)) throw notInstallable(manifest)
    if (present.state === 'foreign' || present.state === 'changed') throw notOurs(present, manifest)
  }
  const { locked } = present
  if (present.state !== 'none' && present.version !== undefined && !force) {
    const order = compareToInstalled(manifest.version, present.version)
    if (order === 'older') throw older(manifest, present.version)
    if (order === 'same' && locked?.digest !== digest) throw otherContent(manifest, originText(origin))
    if (order === 'same') return { kind: 'up to date', present }
  }
  const before = isOurs(manifest.identity, locked, place) ? locked : undefined
  const granted = before === undefined ? undefined : { capabilities: before.capabilities }
  return { kind: 'install', present, asks: reasonToAsk(pack, before, place), granted }
}

/** Whether the entry of a lock was agreed to by the user of this machine: a workspace's may come from others. */
function isOurs(identity: string, locked: LockedPack | undefined, { workspace, agreedFile }: InstallPlace): boolean {
  if (locked === undefined) return false
  return workspace === undefined || isAgreed(agreedFile, { identity, digest: locked.digest })
}

function reasonToAsk(
  { manifest, digest, origin }: FetchedPack,
  locked: LockedPack | undefined,
  place: InstallPlace,
): 'new' | 'wider' | 'source' | undefined {
  if (isAgreed(place.agreedFile, { identity: manifest.identity, digest })) return undefined
  if (locked === undefined) return 'new'
  if (isWider(manifest.capabilities, locked.capabilities)) return 'wider'
  return isSameOrigin(originFor(origin, place), locked.origin) ? undefined : 'source'
}

/** Writes the pack, its entry in the lock, and that it was agreed to. */
export function install(pack: FetchedPack, place: InstallPlace, { now }: { readonly now: Date }): LockedPack {
  const { manifest, digest, origin, manifestText } = pack
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z')
  const commit = origin.kind === 'git' ? { commit: origin.commit } : {}
  const text = withInstalled(manifestText, { time, source: originText(origin), ...commit })
  const files = pack.files.map((file) => (file.path === manifestName ? { ...file, bytes: Buffer.from(text) } : file))
  putInPlace(files, folderOf(manifest, place), place)
  const locked: LockedPack = {
    version: manifest.version,
    origin: originFor(origin, place),
    digest,
    capabilities: manifest.capabilities,
    installed: time,
  }
  writeLocked(place.lockFile, manifest.identity, locked)
  noteAgreed(place.agreedFile, { identity: manifest.identity, digest })
  return locked
}

/** What a workspace's lock says is true on other machines, as far as it can be. */
function originFor(origin: PackOrigin, { workspace }: InstallPlace): PackOrigin {
  if (workspace === undefined || (origin.kind !== 'folder' && origin.kind !== 'file')) return origin
  if (!isAbsolute(origin.path) || !isInside(workspace, origin.path)) return origin
  return { ...origin, path: relative(workspace, origin.path) || '.' }
}

function folderOf({ namespace, name }: Pick<PackManifest, 'namespace' | 'name'>, { root }: InstallPlace): string {
  return join(root, namespace, name)
}

/** Looks at what is installed under a name, and compares it with the lock. */
export async function presentPack(identity: string, place: InstallPlace): Promise<PresentPack> {
  const [namespace = '', name = ''] = identity.split('@')
  const folder = folderOf({ namespace, name }, place)
  const locked = readLock(place.lockFile).get(identity)
  if (!isThere(folder)) return { folder, state: 'none', version: undefined, locked }
  const version = (await manifestIn(folder))?.version
  if (locked === undefined) return { folder, state: 'foreign', version, locked }
  const isSame = digestOf(folder) === locked.digest
  return { folder, state: isSame ? 'locked' : 'changed', version, locked }
}

/** Undefined for a link, or a folder that is no pack as one can be installed. */
export function digestOf(folder: string): string | undefined {
  if (lstatSync(folder).isSymbolicLink()) return undefined
  try {
    return contentDigest(readPackFiles(folder))
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

async function manifestIn(folder: string): Promise<PackManifest | undefined> {
  try {
    const file = join(folder, manifestName)
    return await readPackManifest(readFileSync(file, 'utf8'), file)
  } catch {
    // whatever it is, it is not what was installed
    return undefined
  }
}

function notInstallable({ identity, version }: PackManifest): BatonError {
  return new BatonError('USAGE', `${identity} ${version} is a pre-release without a number`, {
    hint: `Call it ${version}.1, or give --force.`,
  })
}

function notOurs({ folder, state }: PresentPack, { identity }: PackManifest): BatonError {
  const why = state === 'foreign' ? 'was not put there by baton install' : 'was changed since it was installed'
  return new BatonError('USAGE', `${folder} ${why}`, { hint: `--force replaces it with ${identity}; nothing is kept.` })
}

function older({ identity, version }: PackManifest, installed: string): BatonError {
  return new BatonError('USAGE', `${identity} ${version} is older than ${installed}, which is installed`, {
    hint: '--force installs it all the same.',
  })
}

function otherContent({ identity, version }: PackManifest, source: string): BatonError {
  return new BatonError('USAGE', `${identity} ${version} of ${source} is not the ${version} that is installed`, {
    hint: 'The same version has another content: raise the version, or give --force.',
  })
}
