import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { writeFileAtomic } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import { type Capabilities, readCapabilities } from './capabilities.ts'
import type { PackOrigin } from './origin.ts'
import { originOf } from './origin.ts'

/** What is known of an installed pack: enough to get the same one again, and to see that it is the same. */
export interface LockedPack {
  readonly version: string
  readonly origin: PackOrigin
  /** `contentDigest` of its files. */
  readonly digest: string
  /** What its agents may do; undefined: what any agent may. They are held to this, whatever its `pack.toml` says later. */
  readonly capabilities: Capabilities | undefined
  /** RFC 3339. */
  readonly installed: string
}

/** By `namespace@name`. */
export type LockedPacks = ReadonlyMap<string, LockedPack>

const lockName = 'packs.lock'
const format = 1

/** The lock of the packs in a folder, beside it; undefined for folders that Baton installs nothing in. */
export function lockFileOf(packRoot: string): string | undefined {
  return basename(packRoot) === 'packs' ? join(dirname(packRoot), lockName) : undefined
}

/**
 * Empty when there is no such file.
 * @throws BatonError CONFIG_INVALID for one that was not written by Baton, FILE_UNREADABLE
 */
export function readLock(file: string, reads?: ReadLog): LockedPacks {
  if (!sourceExists(file, reads)) return new Map()
  const data = parse(file, readSource(file, reads))
  const packs = isJsonObject(data) && data['version'] === format ? data['packs'] : undefined
  if (!isJsonObject(packs ?? null)) throw notALock(file, 'it has another form')
  return new Map(
    Object.entries(packs as JsonObject).map(([identity, value]) => {
      const pack = lockedPack(value)
      if (pack === undefined) throw notALock(file, `the entry of ${identity} is not one`)
      return [identity, pack]
    }),
  )
}

function parse(file: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw notALock(file, messageOf(error))
  }
}

function lockedPack(value: Json): LockedPack | undefined {
  if (!isJsonObject(value)) return undefined
  const { version, source, digest, capabilities = null, installed = '' } = value
  const origin = originOf(source)
  if (typeof version !== 'string' || typeof digest !== 'string' || typeof installed !== 'string') return undefined
  if (origin === undefined) return undefined
  if (capabilities === null) return { version, origin, digest, capabilities: undefined, installed }
  const read = readCapabilities(capabilities)
  return 'problem' in read ? undefined : { version, origin, digest, capabilities: read.capabilities, installed }
}

/** Adds or replaces one entry; the file is read right before, so that installations at the same time keep both. */
export function writeLocked(file: string, identity: string, pack: LockedPack): void {
  const packs = new Map([...(existsSync(file) ? readLock(file) : []), [identity, pack] as const])
  const sorted = [...packs].toSorted(([left], [right]) => compareBytes(left, right))
  const entries = sorted.map(([name, { version, origin, digest, capabilities, installed }]) => [
    name,
    { version, source: origin, digest, capabilities: capabilities ?? null, installed },
  ])
  writeFileAtomic(file, `${JSON.stringify({ version: format, packs: Object.fromEntries(entries) }, null, 2)}\n`)
}

function notALock(file: string, reason: string): BatonError {
  return new BatonError('CONFIG_INVALID', `${file} is not a lock of packs: ${reason}`, {
    place: { file },
    hint: 'It is written by baton install; take it from your version control, or remove it and install again.',
  })
}
