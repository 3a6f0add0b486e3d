import { isAbsolute, join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { BatonError } from '../base/error.ts'
import { isInside } from '../base/files.ts'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { orderVersions, parseVersion } from '../base/semver.ts'
import { type Capabilities, isWider } from './capabilities.ts'
import { type FetchedPack, fetchPack, sourceOfOrigin } from './fetch-pack.ts'
import type { FetchContext } from './git.ts'
import {
  isApproved,
  isApprovedAddress,
  type LockedPack,
  lockFileOf,
  recordApproval,
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
  /** What the user of this machine has approved: see `approvalsFile`. */
  readonly agreedFile: string
  /** Set for the folder of a workspace: paths below it are then locked as relative ones. */
  readonly workspace: string | undefined
}

/** The place for packs below a folder named `packs`. `workspace` is given if it belongs to one. */
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
      /** Why a person must agree; undefined if an earlier agreement covers it. */
      readonly asks: 'new' | 'wider' | 'source' | undefined
      readonly granted: { readonly capabilities: Capabilities | undefined } | undefined
    }

/**
 * Decides about a fetched pack: a newer version replaces the installed one, the same one is kept; an older version, or
 * replacing a changed folder, needs force.
 * @throws BatonError USAGE with the reason
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

/** Whether the same pack is already installed; throws if only force may install this one. */
function isUpToDate({ manifest: { identity, version }, digest, origin }: FetchedPack, present: PresentPack): boolean {
  const { state, folder, locked, version: installed } = present
  const refuse = (message: string, hint: string): never => {
    throw new BatonError('USAGE', message, { hint })
  }
  if (!isInstallable(version))
    refuse(`${identity} ${version} is a pre-release without a number`, `Call it ${version}.1, or use --force.`)
  if (state === 'foreign' || state === 'changed') {
    const why = state === 'foreign' ? 'was not put there by baton install' : 'was changed since it was installed'
    refuse(`${folder} ${why}`, `--force replaces it with ${identity}; nothing is kept.`)
  }
  if (state === 'none' || installed === undefined) return false
  const order = compareToInstalled(version, installed)
  if (order === 'older')
    refuse(`${identity} ${version} is older than the installed ${installed}`, '--force installs it anyway.')
  if (order === 'same' && locked?.digest !== digest) {
    const message = `${identity} ${version} of ${originText(origin)} is not the ${version} that is installed`
    refuse(message, 'The same version has different content: raise the version, or use --force.')
  }
  return order === 'same'
}

/** Whether the user of this machine agreed to an entry of a lock: the lock of a workspace may come from others. */
function isOurs(identity: string, locked: LockedPack | undefined, { workspace, agreedFile }: InstallPlace): boolean {
  if (locked === undefined) return false
  return workspace === undefined || isApproved(agreedFile, { identity, digest: locked.digest })
}

function reasonToAsk(
  { manifest, digest, origin }: FetchedPack,
  locked: LockedPack | undefined,
  place: InstallPlace,
): 'new' | 'wider' | 'source' | undefined {
  if (isApproved(place.agreedFile, { identity: manifest.identity, digest })) return undefined
  if (locked === undefined) return 'new'
  if (isWider(manifest.capabilities, locked.capabilities)) return 'wider'
  return isSameOrigin(originFor(origin, place), locked.origin) ? undefined : 'source'
}

/** Writes the pack, its entry in the lock, and the agreement. */
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
  if (within !== undefined) for (const path of [target, place.lockFile]) refuseEscapingLink(path, { within })
  putInPlace(files, target, place)
  const locked: LockedPack = {
    version: manifest.version,
    origin: originFor(origin, place),
    digest,
    capabilities: manifest.capabilities,
    installed: time,
  }
  writeLocked(place.lockFile, manifest.identity, locked)
  recordApproval(place.agreedFile, { identity: manifest.identity, digest, origin })
  return locked
}

/** A path in a workspace's lock is relative if possible, so that it is valid on other machines. */
function originFor(origin: PackOrigin, { workspace }: InstallPlace): PackOrigin {
  if (workspace === undefined || (origin.kind !== 'folder' && origin.kind !== 'file')) return origin
  if (!isAbsolute(origin.path) || !isInside(workspace, origin.path)) return origin
  return { ...origin, path: relative(workspace, origin.path) || '.' }
}

type VersionOrder = 'newer' | 'same' | 'older'

/** Compares as AIPack does: a leading `v` is ignored, and a text that is not a version is compared as text. */
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

/**
 * Packs in the lock of a workspace with addresses from which the user of this machine has not installed them before.
 */
export function unknownAddresses(
  packs: readonly PackFrom[],
  { workspace, agreedFile }: InstallPlace,
): readonly PackFrom[] {
  if (workspace === undefined) return []
  return packs.filter((pack) => isRemote(pack.origin) && !isApprovedAddress(agreedFile, pack))
}

/** The outcome for one pack in a lock. */
export interface Verified {
  readonly identity: string
  readonly version: string
  readonly outcome: 'verified' | 'installed'
}

/**
 * Brings a folder of packs to the state of its lock: present packs are compared; missing ones are fetched at the locked
 * commit, compared, and installed once all are fetched. `force` also replaces changed ones. The lock may be written by
 * others, so unless the user has agreed to the same on this machine, a person is asked before an address is contacted
 * and before content is installed. Returns undefined, with nothing installed, if the answer is no.
 * @throws BatonError UNTRUSTED for content that differs from the lock, and the errors of fetching
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
      throw new BatonError('UNTRUSTED', `${identity} differs from the lock: ${folder} was changed`, {
        hint: 'baton install --force restores the locked content; baton install SOURCE --force locks different content.',
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
    ({ manifest: { identity }, digest }) => !isApproved(place.agreedFile, { identity, digest }),
  )
  if (asked.length > 0 && !(await agree(asked))) return undefined
  context.signal.throwIfAborted()
  for (const pack of fetched) install(pack, place, { now: now() })
  return done
}

interface LockedInstall {
  readonly force: boolean
  readonly now: () => Date
  /** Asks a person whether other machines may be contacted for packs; none is before the answer. */
  readonly mayFetch: (packs: readonly PackFrom[]) => Promise<boolean>
  /** Asks a person about packs to which the user of this machine has not agreed. */
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
        : `Nothing was installed. Look at what has changed; baton install ${source} accepts the current content.`,
    })
  }
  // a lock can be edited: what it grants must be what the pack itself requests
  if (isDeepStrictEqual(manifest.capabilities, locked.capabilities)) return
  throw new BatonError('UNTRUSTED', `the lock grants ${identity} other capabilities than it requests`, {
    place: { file: lockFile },
    hint: `Nothing was installed. baton install ${source} asks again.`,
  })
}
