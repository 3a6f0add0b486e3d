import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { realPath, writeFileAtomic } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type Surroundings, userDataFolder } from './locate.ts'
import type { TrustState } from './trust.ts'

/** A file as it was when its user trusted it. */
export interface TrustedFile {
  /** Of a prompt file the part above its `====` line, of others all of it: SHA-256. */
  readonly hash: string
  /** The guarded keys it set. */
  readonly keys: readonly string[]
  /** RFC 3339. */
  readonly since: string
}

/** By absolute path, links resolved. */
export type TrustedFiles = ReadonlyMap<string, TrustedFile>

/** Where it is kept what the user trusts; need not exist. */
export function trustFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'trust.json')
}

/** @throws BatonError CONFIG_INVALID when it was not written by Baton, FILE_UNREADABLE */
export function readTrusted(store: string, reads?: ReadLog): TrustedFiles {
  if (!sourceExists(store, reads)) return new Map()
  const data = parse(readSource(store, reads))
  const files = isJsonObject(data) && data['version'] === 1 ? data['files'] : undefined
  if (files === undefined || !isJsonObject(files)) throw damaged(store)
  return new Map(
    Object.entries(files).map(([path, value]) => {
      const trusted = trustedFile(value)
      if (trusted === undefined) throw damaged(store)
      return [path, trusted]
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

function trustedFile(value: Json): TrustedFile | undefined {
  if (!isJsonObject(value)) return undefined
  const { hash, keys, since } = value
  if (typeof hash !== 'string' || !Array.isArray(keys) || typeof since !== 'string') return undefined
  return { hash, keys: (keys as readonly Json[]).map(String), since }
}

/** The file is only for its user. */
export function writeTrusted(store: string, files: TrustedFiles): void {
  const sorted = [...files].toSorted(([left], [right]) => (left < right ? -1 : 1))
  writeFileAtomic(store, `${JSON.stringify({ version: 1, files: Object.fromEntries(sorted) }, null, 2)}\n`)
}

/** How the user stands to a file (absolute) whose content has this hash. */
export function trustState(
  { path, hash }: { readonly path: string; readonly hash: string },
  around: Pick<Surroundings, 'env' | 'home'> & { readonly reads?: ReadLog | undefined },
): TrustState {
  const trusted = readTrusted(trustFile(around), around.reads).get(realPath(path))
  if (trusted === undefined) return 'untrusted'
  return trusted.hash === hash ? 'trusted' : 'changed'
}

/** The hash of a prompt file that is trusted: of what is above its `====` line, however many empty lines end it. */
export function promptTrustHash({ text, transcriptLine }: Pick<PromptDocument, 'text' | 'transcriptLine'>): string {
  const lines = text.split(/\r?\n/)
  return sha256(
    lines
      .slice(0, transcriptLine === undefined ? lines.length : transcriptLine - 1)
      .join('\n')
      .trimEnd(),
  )
}

function damaged(store: string): BatonError {
  return new BatonError('CONFIG_INVALID', `${store} does not hold trusted files`, {
    place: { file: store },
    hint: 'Remove it, and trust the files again with baton trust.',
  })
}
