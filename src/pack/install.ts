import { isAbsolute, join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { BatonError } from '../base/error.ts'
import { isInside } from '../base/files.ts'
import { refuseLeavingLink } from '../base/leaving.ts'
import { orderVersions, parseVersion } from '../base/semver.ts'
import { type Capabilities, isWider } from './capabilities.ts'
import { type FetchedPack, fetchPack, sourceOfOrigin } from './fetch-pack.ts'
import type { FetchContext } from './git.ts'
import {
  isAgreed,
  isAgreedAddress,
  type LockedPack,
  lockFileOf,
  noteAgreed,
  type PackFrom,
  readLock,
  writeLocked,
} from './lock-file.ts'
import { manifestName, withInstalled } from './pack-manifest.ts'
import { type PresentPack, presentPack } from './pack-status.ts'
import { putInPlace } from './put-in-place.ts'
import { isRemote, isSameOrigin, originText, type PackOrigin, queryHint } from './source.ts'

/** Where packs are installed. */
export interface InstallPlace {
  /** Contains them as `<namespace>/<name>`. */
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

/** The decision about an installation, before anything is written. */
export type InstallPlan =
  | { readonly kind: 'up to date'; readonly present: PresentPack }
  | {
      readonly kind: 'install'
      readonly present: PresentPack
      /** Why a person has to agree; undefined when what was agreed to covers it. */
      readonly asks: 'new' | 'wider' | 'source' | undefined
      readonly granted: { readonly capabilities: Capabilities | undefined } | undefined
    }

/**
 * Decides about a fetched pack: a newer version replaces, the same one stays, an older one and one over a changed
 * folder need force.
 * @throws BatonError USAGE saying why not
 */
export async function planInstall(
  pack: FetchedPack,
  place: InstallPlace,
  { force }: { readonly force: boolean },
): Promise<InstallPlan> {
  const { manifest } = pack
  const present = await presentPack(manifest.identity, place)
  const { locked } = present
  if (!force && isUpToDate(pack, present)) return { kind: 'up to date', present }
  const before = isOurs(manifest.identity, locked, place) ? locked : undefined
  const granted = before === undefined ? undefined : { capabilities: before.capabilities }
  return { kind: 'install', present, asks: reasonToAsk(pack, before, place), granted }
}

/** Whether the same pack is installed already; throws for one that only force may install. */
function isUpToDate({ manifest: { identity, version }, digest, origin }: FetchedPack, present: PresentPack): boolean {
  const { state, folder, locked, version: installed } = present
  const refuse = (message: string, hint: string): never => {
    throw new BatonError('USAGE', message, { hint })
  }
  if (!isInstallable(version))
    refuse(`${identity} ${version} is a pre-release without a number`, `Call it ${version}.1, or give --force.`)
  if (state === 'foreign' || state === 'changed') {
    const why = state === 'foreign' ? 'was not put there by baton install' : 'was changed since it was installed'
    refuse(`${folder} ${why}`, `--force replaces it with ${identity}; nothing is kept.`)
  }
  if (state === 'none' || installed === undefined) return false
  const order = compareToInstalled(version, installed)
  if (order === 'older')
    refuse(`${identity} ${version} is older than ${installed}, which is installed`, '--force installs it all the same.')
  if (order === 'same' && locked?.digest !== digest) {
    const message = `${identity} ${version} of ${originText(origin)} is not the ${version} that is installed`
    refuse(message, 'The same version has other content: raise the version, or give --force.')
  }
  return order === 'same'
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
  const { manifest, digest, origin } = pack
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z')
  const commit = origin.kind === 'git' ? { commit: origin.commit } : {}
  const installed = { time, source: originText(origin), ...commit }
  const files = pack.files.map((file) => {
    if (file.path !== manifestName) return file
    return { ...file, bytes: Buffer.from(withInstalled(Buffer.from(file.bytes).toString('utf8'), installed)) }
  })
  const target = join(place.root, manifest.namespace, manifest.name)
  const { workspace: within } = place
  if (within !== undefined) for (const path of [target, place.lockFile]) refuseLeavingLink(path, { within })
  putInPlace(files, target, place)
  const locked: LockedPack = {
    version: manifest.version,
    origin: originFor(origin, place),
    digest,
    capabilities: manifest.capabilities,
    installed: time,
  }
  writeLocked(place.lockFile, manifest.identity, locked)
  noteAgreed(place.agreedFile, { identity: manifest.identity, digest, origin })
  return locked
}

/** A path in a workspace's lock is relative when it can be, so that it is right on other machines. */
function originFor(origin: PackOrigin, { workspace }: InstallPlace): PackOrigin {
  if (workspace === undefined || (origin.kind !== 'folder' && origin.kind !== 'file')) return origin
  if (!isAbsolute(origin.path) || !isInside(workspace, origin.path)) return origin
  return { ...origin, path: relative(workspace, origin.path) || '.' }
}

type VersionOrder = 'newer' | 'same' | 'older'

/** Compares as AIPack does: a leading `v` is ignored, what is no version is compared as text. */
export function compareToInstalled(version: string, installed: string): VersionOrder {
  const [next, now] = [version, installed].map((text) => text.replace(/^v/, '')) as [string, string]
  const [left, right] = [parseVersion(next), parseVersion(now)]
  const plain = next === now ? 0 : next < now ? -1 : 1
  const order = left === undefined || right === undefined ? plain : orderVersions(left, right)
  return order === 0 ? 'same' : order > 0 ? 'newer' : 'older'
}

/** Whether it may be installed without force: a pre-release must have a number. */
export function isInstallable(version: string): boolean {
  return !version.includes('-') || /-.*\.\d+$/.test(version)
}

/** Packs that the lock of a workspace has at addresses which the user of this machine has not installed them from. */
export function unknownAddresses(
  packs: readonly PackFrom[],
  { workspace, agreedFile }: InstallPlace,
): readonly PackFrom[] {
  if (workspace === undefined) return []
  return packs.filter((pack) => isRemote(pack.origin) && !isAgreedAddress(agreedFile, pack))
}

/** The outcome for one pack that a lock names. */
export interface Verified {
  readonly identity: string
  readonly version: string
  readonly outcome: 'verified' | 'installed'
}

/**
 * Makes a folder of packs what its lock says: present packs are compared, missing ones are fetched at the commit of the
 * lock, compared, and put in place once all are there. `force` also fetches changed ones. Others may have written the
 * lock, so a person is asked before an address is, and before content is put in place, unless the same was agreed to on
 * this machine; undefined, and nothing is installed, when the answer is no.
 * @throws BatonError UNTRUSTED for content that is not the locked one, and what fetching throws
 */
export async function installLocked(
  place: InstallPlace,
  { force, now, mayFetch, agree }: LockedInstall,
  context: FetchContext,
): Promise<readonly Verified[] | undefined> {
  const done: Verified[] = []
  const missing: (readonly [string, LockedPack])[] = []
  for (const [identity, locked] of readLock(place.lockFile)) {
    context.signal.throwIfAborted()
    const { state, folder } = await presentPack(identity, place)
    if (state === 'locked') {
      done.push({ identity, version: locked.version, outcome: 'verified' })
      continue
    }
    if (state !== 'none' && !force) {
      throw new BatonError('UNTRUSTED', `${identity} is not what was locked: ${folder} was changed`, {
        hint: 'baton install --force restores the locked content; baton install SOURCE --force locks something else.',
      })
    }
    missing.push([identity, locked])
    done.push({ identity, version: locked.version, outcome: 'installed' })
  }
  const unknown = unknownAddresses(
    missing.map(([identity, { origin }]) => ({ identity, origin })),
    place,
  )
  if (unknown.length > 0 && !(await mayFetch(unknown))) return undefined
  const fetched: FetchedPack[] = []
  for (const [identity, locked] of missing) {
    context.signal.throwIfAborted()
    const pack = await fetchPack(sourceOfOrigin(locked.origin, place.workspace ?? '/'), context)
    refuseOther(pack, locked, { identity, lockFile: place.lockFile })
    fetched.push(pack)
  }
  const asked = fetched.filter(
    ({ manifest: { identity }, digest }) => !isAgreed(place.agreedFile, { identity, digest }),
  )
  if (asked.length > 0 && !(await agree(asked))) return undefined
  context.signal.throwIfAborted()
  for (const pack of fetched) install(pack, place, { now: now() })
  return done
}

interface LockedInstall {
  readonly force: boolean
  readonly now: () => Date
  /** Asks a person whether other machines may be asked for packs; none is before the answer. */
  readonly mayFetch: (packs: readonly PackFrom[]) => Promise<boolean>
  /** Asks a person about packs that nobody has agreed to on this machine. */
  readonly agree: (packs: readonly FetchedPack[]) => Promise<boolean>
}

function refuseOther(
  { manifest, digest }: FetchedPack,
  locked: LockedPack,
  { identity, lockFile }: { readonly identity: string; readonly lockFile: string },
): void {
  const source = originText(locked.origin)
  const hasLostQuery = locked.origin.kind === 'url' && locked.origin.query !== undefined
  if (manifest.identity !== identity || digest !== locked.digest) {
    throw new BatonError('UNTRUSTED', `${source} is not the ${identity} ${locked.version} that was locked`, {
      place: { file: lockFile },
      hint: hasLostQuery
        ? queryHint(source)
        : `Nothing was installed. Look at what has changed; baton install ${source} takes it as it is now.`,
    })
  }
  // a lock can be edited: what is granted must be what the pack itself asks for
  if (isDeepStrictEqual(manifest.capabilities, locked.capabilities)) return
  throw new BatonError('UNTRUSTED', `the lock grants ${identity} other capabilities than it asks for`, {
    place: { file: lockFile },
    hint: `Nothing was installed. baton install ${source} asks again.`,
  })
}
