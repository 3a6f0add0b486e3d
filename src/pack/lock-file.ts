import { basename, dirname, join } from 'node:path'
import { isJsonObject, type Json } from '../base/json.ts'
import { refuseEscape } from '../base/link-escape.ts'
import type { ReadLog } from '../base/reads.ts'
import {
  type DataFile,
  readDataFile,
  readPrivateDataFile,
  writeDataFile,
  writePrivateDataFile,
} from '../config/data-file.ts'
import { type Surroundings, userDataFolder } from '../config/locate.ts'
import { type Capabilities, readCapabilities } from './capabilities.ts'
import { isRemote, originOf, originText, type PackOrigin } from './source.ts'

/** An installed pack: enough to get the same one again and to verify it. */
export interface LockedPack {
  readonly version: string
  readonly origin: PackOrigin
  /** `contentDigest` of its files. */
  readonly digest: string
  /** What its agents may do, even if its `pack.toml` changes later; undefined: no restriction. */
  readonly capabilities: Capabilities | undefined
  /** RFC 3339. */
  readonly installed: string
}

/** By `namespace@name`. */
export type LockedPacks = ReadonlyMap<string, LockedPack>

const lock: DataFile<LockedPack> = {
  key: 'packs',
  what: 'a lock of packs',
  hint: 'It is written by baton install; restore it from version control, or remove it and install again.',
  parse(value) {
    if (!isJsonObject(value)) return undefined
    const { version, source, digest, capabilities: table = null, installed = '' } = value
    const origin = originOf(source)
    if (typeof version !== 'string' || typeof digest !== 'string' || typeof installed !== 'string') return undefined
    if (origin === undefined) return undefined
    const read = table === null ? { capabilities: undefined } : readCapabilities(table)
    return 'problem' in read ? undefined : { version, origin, digest, ...read, installed }
  },
}

/** The lock of the packs in a folder, next to it; undefined for folders into which Baton does not install. */
export function lockFileOf(packRoot: string): string | undefined {
  return basename(packRoot) === 'packs' ? join(dirname(packRoot), 'packs.lock') : undefined
}

/**
 * Empty if the file does not exist.
 * @throws BatonError CONFIG_INVALID for one that was not written by Baton, OUTSIDE_WORKSPACE for a link out of its
 *   workspace, FILE_UNREADABLE
 */
export function readLock(file: string, reads?: ReadLog): LockedPacks {
  // the lock of a workspace comes with it, and an error would quote the file that a link leads to
  const folder = dirname(file)
  if (basename(folder) === '.baton') refuseEscape(file, { within: dirname(folder), cwd: dirname(folder), reads })
  return readDataFile(file, lock, reads)
}

/** Adds or replaces one entry; reads the file right before, so that concurrent installations keep both. */
export function writeLocked(file: string, identity: string, pack: LockedPack): void {
  const entries = [...readLock(file), [identity, pack] as const].map(
    ([name, { version, origin, digest, capabilities, installed }]) =>
      [name, { version, source: origin, digest, capabilities: capabilities ?? null, installed }] as const,
  )
  writeDataFile(file, lock.key, new Map(entries))
}

/** A pack with specific content. */
export interface ApprovedPack {
  readonly identity: string
  /** `contentDigest` of its files, which include its capabilities. */
  readonly digest: string
}

const agreements: DataFile<readonly string[]> = {
  key: 'packs',
  what: 'a list of approved packs',
  hint: 'Remove it: packs of workspaces then need your agreement again.',
  parse: (value) => (Array.isArray(value) ? (value as readonly Json[]).map(String) : undefined),
}

/**
 * The list of packs that the user of this machine has agreed to install, and of their addresses; need not exist. The
 * lock of a workspace cannot serve for this: it comes with the workspace, and others may have written it.
 */
export function approvalsFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'agreed-packs.json')
}

/** @throws BatonError CONFIG_INVALID for a file that was not written by Baton, FILE_UNREADABLE */
export function isApproved(file: string, { identity, digest }: ApprovedPack): boolean {
  return readPrivateDataFile(file, agreements).get(identity)?.includes(digest) ?? false
}

/** Reads the file right before, so that concurrent installations keep both. */
export function recordApproval(file: string, { identity, digest, origin }: ApprovedPack & PackFrom): void {
  const packs = readPrivateDataFile(file, agreements)
  const known = packs.get(identity) ?? []
  const next = [...new Set([...known, digest, ...(isRemote(origin) ? [addressEntry(origin)] : [])])]
  if (next.length === known.length) return
  writePrivateDataFile(file, agreements.key, new Map([...packs, [identity, next] as const]))
}

/** A pack with its address in a lock. */
export interface PackFrom {
  readonly identity: string
  readonly origin: PackOrigin
}

/** Whether the user of this machine has installed this pack from this address before. */
export function isApprovedAddress(file: string, { identity, origin }: PackFrom): boolean {
  return readPrivateDataFile(file, agreements).get(identity)?.includes(addressEntry(origin)) ?? false
}

function addressEntry(origin: PackOrigin): string {
  return `from ${originText(origin)}`
}
