import { join } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type DataFile, readDataFile, writeDataFile } from './data-file.ts'
import type { Finding } from './issue.ts'
import { reserved } from './keys.ts'
import { type Surroundings, userDataFolder } from './locate.ts'

/** Whether a file is trusted: `changed` was trusted with other content; `none` can never be, it is no file. */
export type TrustState = 'trusted' | 'changed' | 'untrusted' | 'none'

/** The keys of a file that only the user may set; one of a table as `table.key`. */
export function guardedKeys(data: JsonObject): readonly string[] {
  const { changes } = data
  const opened = isJsonObject(changes ?? null) && Object.hasOwn(changes as JsonObject, 'allow') ? ['changes.allow'] : []
  return [...Object.keys(data).filter((key) => reserved.get(key)?.isGuarded === true), ...opened]
}

/**
 * Checks the keys that a workspace config file or a prompt file may set only once its user has trusted it: which hosts
 * are asked, which programs are started, what may be changed. Which key is sent to a host is the user's own choice,
 * even for a trusted file. Findings have exit code 6.
 */
export function checkTrust(
  data: JsonObject,
  { file, userFile, state }: { readonly file: string; readonly userFile: string; readonly state: TrustState },
): readonly Finding[] {
  if (state === 'trusted') {
    return keyPaths(data).map((path) => {
      const reason = 'only your own config file says which key is sent, even for a trusted file'
      const hint = `Remove it, or move the host into your own config file ${userFile}.`
      return untrusted(path, reason, hint)
    })
  }
  const trust = state === 'none' ? '' : `look at the file and run baton trust ${file}, or `
  const [reason, hint] =
    state === 'changed'
      ? ['the file has changed since it was trusted', `Look at what has changed, then run baton trust ${file} again.`]
      : ['the file is not trusted', `If you want it, ${trust}put it into your own config file ${userFile}.`]
  return guardedKeys(data).map((key) => untrusted(key.split('.'), reason, hint))

  function untrusted(path: DataPath, reason: string, hint: string): Finding {
    const message = `"${path.join('.')}" may not be set by ${file}: ${reason}`
    return { code: 'UNTRUSTED', message, hint, path, part: 'key' }
  }
}

function keyPaths({ providers = null, gateway = null }: JsonObject): readonly DataPath[] {
  const named = isJsonObject(providers) ? Object.entries(providers) : []
  const hosts: readonly (readonly [DataPath, Json])[] = [
    ...named.map(([name, host]) => [['providers', name], host] as const),
    [['gateway'], gateway],
  ]
  return hosts.flatMap(([path, host]) =>
    isJsonObject(host) && host['api_key_env'] !== undefined ? [[...path, 'api_key_env']] : [],
  )
}

/** The values of a trusted file: its hosts get no key of the environment. */
export function withoutKeys(values: JsonObject): JsonObject {
  const { providers, gateway } = values
  const keyless = (host: Json): Json => (isJsonObject(host) ? { ...host, keyless: true } : host)
  return {
    ...values,
    ...(isJsonObject(providers)
      ? { providers: Object.fromEntries(Object.entries(providers).map(([name, host]) => [name, keyless(host)])) }
      : {}),
    ...(gateway === undefined ? {} : { gateway: keyless(gateway) }),
  }
}

/** A file as it was when its user trusted it. */
export interface TrustedFile {
  /** Of a prompt file the part above its `====` line, of others all of it: SHA-256. */
  readonly hash: string
  readonly keys: readonly string[]
  /** RFC 3339. */
  readonly since: string
}

/** By absolute path, links resolved. */
export type TrustedFiles = ReadonlyMap<string, TrustedFile>

/** Where trusted files are listed; need not exist. */
export function trustFile(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'trust.json')
}

const trustList: DataFile<TrustedFile> = {
  key: 'files',
  what: 'a list of trusted files',
  hint: 'Remove it, and trust the files again with baton trust.',
  parse(value) {
    if (!isJsonObject(value)) return undefined
    const { hash, keys, since } = value
    if (typeof hash !== 'string' || !Array.isArray(keys) || typeof since !== 'string') return undefined
    return { hash, keys: (keys as readonly Json[]).map(String), since }
  },
}

/** @throws BatonError CONFIG_INVALID when it was not written by Baton, FILE_UNREADABLE */
export function readTrusted(store: string, reads?: ReadLog): TrustedFiles {
  return readDataFile(store, trustList, reads)
}

export function writeTrusted(store: string, files: TrustedFiles): void {
  writeDataFile(store, trustList.key, files)
}

/** Whether a file (absolute) whose content has this hash is trusted. */
export function trustState(
  { path, hash }: { readonly path: string; readonly hash: string },
  around: Pick<Surroundings, 'env' | 'home'> & { readonly reads?: ReadLog | undefined },
): TrustState {
  const trusted = readTrusted(trustFile(around), around.reads).get(realPath(path))
  if (trusted === undefined) return 'untrusted'
  return trusted.hash === hash ? 'trusted' : 'changed'
}

/** The hash of a prompt file that is trusted: of the part above its `====` line, without empty lines at its end. */
export function promptTrustHash({ text, transcriptLine }: Pick<PromptDocument, 'text' | 'transcriptLine'>): string {
  const lines = text.split(/\r?\n/)
  const above = transcriptLine === undefined ? lines : lines.slice(0, transcriptLine - 1)
  return sha256(above.join('\n').trimEnd())
}
