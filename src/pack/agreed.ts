import { join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError } from '../base/error.ts'
import { readSourceFile, writeFileAtomic } from '../base/files.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { sourceExists } from '../base/source-reader.ts'
import { type Surroundings, userDataFolder } from '../config/locate.ts'

/** A pack with one content. */
export interface AgreedPack {
  readonly identity: string
  /** `contentDigest` of its files, its capabilities among them. */
  readonly digest: string
}

const format = 1

/**
 * Where it is kept which packs the user of this machine has agreed to install; need not exist. The lock of a workspace
 * cannot say that: it comes with the workspace, and others may have written it.
 */
export function agreedFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'agreed-packs.json')
}

/** @throws BatonError CONFIG_INVALID for a file that was not written by Baton, FILE_UNREADABLE */
export function isAgreed(file: string, { identity, digest }: AgreedPack): boolean {
  return readAgreed(file).get(identity)?.includes(digest) ?? false
}

/** The file is read right before, so that installations at the same time keep both. */
export function noteAgreed(file: string, { identity, digest }: AgreedPack): void {
  const packs = readAgreed(file)
  const known = packs.get(identity) ?? []
  if (known.includes(digest)) return
  const all = [...packs, [identity, [...known, digest]] as const]
  const sorted = [...new Map(all)].toSorted(([left], [right]) => compareBytes(left, right))
  writeFileAtomic(file, `${JSON.stringify({ version: format, packs: Object.fromEntries(sorted) }, null, 2)}\n`)
}

function readAgreed(file: string): ReadonlyMap<string, readonly string[]> {
  if (!sourceExists(file, undefined)) return new Map()
  const data = parse(readSourceFile(file))
  const packs = isJsonObject(data) && data['version'] === format ? data['packs'] : undefined
  if (packs === undefined || !isJsonObject(packs)) throw damaged(file)
  return new Map(
    Object.entries(packs).map(([identity, digests]) => {
      if (!Array.isArray(digests)) throw damaged(file)
      return [identity, (digests as readonly Json[]).map(String)]
    }),
  )
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

function damaged(file: string): BatonError {
  return new BatonError('CONFIG_INVALID', `${file} does not hold packs that were agreed to`, {
    place: { file },
    hint: 'Remove it: packs of workspaces are then asked about once more.',
  })
}
