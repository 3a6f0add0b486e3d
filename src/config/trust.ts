import { join } from 'node:path'
import { type DataPath, pathText, quotedPath } from '../base/data-text.ts'
import { entryPath, isInside } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { pathsNamedBy } from '../base/named-paths.ts'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type DataFile, readPrivateDataFile, writePrivateDataFile } from './data-file.ts'
import type { Finding } from '../settings/issue.ts'
import { globsKind, isGuarded, isReserved, isSetting } from '../settings/keys.ts'
import { originText } from './layers.ts'
import { type Surroundings, userDataFolder } from './locate.ts'
import type { UserLimits, WeakerSetting } from './user-limits.ts'
import { effortWord, weakerSettings } from './weaker-settings.ts'
import { filesNamed, type Names, type NamedFiles } from './named-files.ts'

/** Whether a file is trusted: `changed` was trusted with other content; `none` cannot be, because it is not a file. */
export type TrustState = 'trusted' | 'changed' | 'untrusted' | 'none'

/** What in a file's settings needs trust. */
export interface NeedsTrust {
  /** Keys that only the user may set. */
  readonly guarded: readonly string[]
  /** Values that are looser than the user's. */
  readonly loosened: readonly WeakerSetting[]
  /** Its `[permission]` allows or asks about something: untrusted, that counts only if it is stricter. */
  readonly rules: boolean
}

export function needsTrust(data: JsonObject, held: UserLimits): NeedsTrust {
  const isKey = held.by === 'prompt' ? isReserved : isSetting
  const settings = Object.fromEntries(Object.entries(data).filter(([key]) => isKey(key)))
  return {
    guarded: Object.keys(settings).filter(isGuarded),
    loosened: weakerSettings(settings, held),
    rules: hasLooseRules(settings),
  }
}

function hasLooseRules({ permission = null }: JsonObject): boolean {
  if (!isJsonObject(permission)) return false
  const effects = Object.values(permission).flatMap((given) => (isJsonObject(given) ? Object.values(given) : [given]))
  return effects.some((effect) => effect !== 'deny')
}

/** The keys, for people: `gateway`, `lua.timeout`. */
export function needyKeys({ guarded, loosened: values, rules }: NeedsTrust): readonly string[] {
  return [...guarded, ...values.map(({ path }) => pathText(path)), ...(rules ? ['permission'] : [])]
}

/**
 * The globs of files whose content is sent, by key, that name files exactly. A file that holds keys is sent without a
 * question only if the file that names it so is trusted.
 */
export function exactGlobs(data: JsonObject): readonly (readonly [string, readonly string[]])[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const kind = globsKind(key)
    if (kind === undefined || kind === 'structure') return []
    const globs = textsIn(value).filter((glob) => pathsNamedBy(glob, '/').exact.length > 0)
    return globs.length === 0 ? [] : [[key, globs] as const]
  })
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap((item: Json) => textsIn(item)) : []
}

/**
 * Checks the keys that a workspace config file or a prompt file may set only once the user has trusted it: which hosts
 * get requests, which programs are started, what may be changed, and limits that are looser than the user's. Which key
 * is sent to a host is the user's own choice, even for a trusted file. Rules of `[permission]` need no trust: untrusted
 * ones only tighten. Findings have exit code 6.
 */
export function checkTrust(
  data: JsonObject,
  needs: NeedsTrust,
  { file, userFile, state }: { readonly file: string; readonly userFile: string; readonly state: TrustState },
): readonly Finding[] {
  if (state === 'trusted') {
    return keyPaths(data).map((path) => {
      const reason = 'only your own config file decides which key is sent, even for a trusted file'
      const hint = `Remove it, or move the host into your own config file ${userFile}.`
      return untrusted(path, `may not be set by ${file}: ${reason}`, hint)
    })
  }
  const trust = state === 'none' ? '' : `look at the file and run baton trust ${file}, or `
  const [reason, hint] =
    state === 'changed'
      ? ['the file has changed since it was trusted', `Look at what has changed, then run baton trust ${file} again.`]
      : ['the file is not trusted', `If you want it, ${trust}put it into your own config file ${userFile}.`]
  return [
    ...needs.guarded.map((key) => untrusted([key], `may not be set by ${file}: ${reason}`, hint)),
    ...needs.loosened.map((value) => {
      return untrusted(value.path, `may not be ${givenText(value)} in ${file}: ${ownText(value)}, and ${reason}`, hint)
    }),
  ]

  function untrusted(path: DataPath, said: string, hint: string): Finding {
    return { code: 'UNTRUSTED', message: `${quotedPath(path)} ${said}`, hint, path, part: 'key' }
  }
}

function ownText({ own, origin, path, why }: WeakerSetting): string {
  if (why === 'leads') return 'it can make the program do anything'
  if (why === 'starts') return 'it starts a program, and only you may name one'
  const [key, name = ''] = path.map(String)
  if (why === 'hides') {
    const isBuiltIn = origin === undefined || origin.kind === 'default'
    return `it shadows ${isBuiltIn ? `the built-in agent ${name}` : `yours (${originText(origin)})`}`
  }
  if (own === undefined) return 'only you may set it'
  if (key === 'model_aliases' && (own === name || own === name.replace(effortWord, '')))
    return `${shown(own)} is a model's own name`
  return `yours is ${shown(own)} (${origin === undefined ? 'default' : originText(origin)})`
}

/** Variables of a program may be keys: only their names are shown. */
function withoutVariables({ path, value }: WeakerSetting): Json {
  if (path.at(-1) !== 'env' || !isJsonObject(value)) return value
  return Object.fromEntries(Object.keys(value).map((name) => [name, '…']))
}

/** A whole agent is only named: its definition is at the place that is shown. */
function givenText(value: WeakerSetting): string {
  return value.path[0] === 'agents' && value.path.length === 2 ? 'set' : shown(withoutVariables(value))
}

function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function keyPaths({ providers = null, gateway = null }: JsonObject): readonly DataPath[] {
  const named = isJsonObject(providers) ? Object.entries(providers) : []
  const hosts: readonly (readonly [DataPath, Json])[] = [
    ...named.map(([name, host]) => [['providers', name], host] as const),
    [['gateway'], gateway],
  ]
  return hosts.flatMap(([path, host]) => {
    if (!isJsonObject(host)) return []
    return ['api_key_env', 'api_key_command'].filter((key) => host[key] !== undefined).map((key) => [...path, key])
  })
}

/** The values of a trusted file: its hosts get no key from the environment. */
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

/** A file as the user trusted it. */
export interface TrustedFile {
  /**
   * SHA-256 of the part above the `====` line for a prompt file, else of the whole file. Empty for a place that may
   * define a name, whatever its content is.
   */
  readonly hash: string
  readonly keys: readonly string[]
  /** RFC 3339. */
  readonly since: string
  /** The files that its values name, mainly commands and scripts: by absolute path, the SHA-256 of their content. */
  readonly leads?: NamedFiles
  /**
   * The words of its values that could name files, and where they start: a file that appears later is found by them.
   * Words may be keys, so they are only readable with the content of the file, which is not stored: see `sealNames`.
   */
  readonly sealed?: string
  /** The same in clear, as earlier versions have stored them. */
  readonly names?: Names
}

/** Loaded only when words are sealed or opened: loading takes a short run longer than all its hashing. */
const crypto = () => process.getBuiltinModule('node:crypto')

const sealing = { cipher: 'aes-256-gcm', iv: 12, tag: 16 } as const

function sealingKey(content: string): Buffer {
  return crypto().createHash('sha256').update(`names\0${content}`).digest()
}

/** Names in a form that only the content of their file opens. */
export function sealNames(names: Names, content: string): string {
  const iv = crypto().randomBytes(sealing.iv)
  const cipher = crypto().createCipheriv(sealing.cipher, sealingKey(content), iv)
  const text = Buffer.concat([cipher.update(JSON.stringify(names)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64')
}

/** Undefined if they were sealed with other content, or damaged. */
function openNames(sealed: string, content: string): Names | undefined {
  const bytes = Buffer.from(sealed, 'base64')
  const { cipher, iv, tag } = sealing
  try {
    const opening = crypto().createDecipheriv(cipher, sealingKey(content), bytes.subarray(0, iv), {
      authTagLength: tag,
    })
    opening.setAuthTag(bytes.subarray(iv, iv + tag))
    const text = Buffer.concat([opening.update(bytes.subarray(iv + tag)), opening.final()]).toString()
    return readNames(JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

function readNames(names: Json): Names | undefined {
  const { words = null, folders = null } = isJsonObject(names) ? names : {}
  const isWhole = Array.isArray(words) && Array.isArray(folders)
  return isWhole ? { words: words.map(String), folders: folders.map(String) } : undefined
}

/** By `trustKey`. */
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
    const { hash, keys, since, leads = {}, names = null, sealed } = value
    if (typeof hash !== 'string' || !Array.isArray(keys) || typeof since !== 'string' || !isJsonObject(leads)) return
    const files = Object.entries(leads).filter(([, digest]) => typeof digest === 'string')
    const named = files.length === 0 ? {} : { leads: Object.fromEntries(files) as Record<string, string> }
    const later = typeof sealed === 'string' ? { sealed } : defined({ names: readNames(names) })
    return { hash, keys: (keys as readonly Json[]).map(String), since, ...named, ...later }
  },
}

/** @throws BatonError CONFIG_INVALID if it was not written by Baton, FILE_UNREADABLE */
export function readTrusted(store: string, reads?: ReadLog): TrustedFiles {
  return readPrivateDataFile(store, trustList, reads)
}

export function writeTrusted(store: string, files: TrustedFiles): void {
  writePrivateDataFile(store, trustList.key, files)
}

/**
 * The path under which a file (absolute) is trusted: where it is in its folder, so that a link to a trusted file
 * elsewhere is another file. `workspace`: absolute, links resolved.
 */
export function trustKey(path: string, workspace?: string): string {
  return workspace !== undefined && isInside(workspace, path) ? path : entryPath(path)
}

interface TrustAround extends Pick<Surroundings, 'env' | 'home'> {
  readonly reads?: ReadLog | undefined
  /** Where its names start as well: the workspace of this call. Omitted for the files of packs. */
  readonly workspace?: string
}

/** Whether a file (absolute) is trusted with this content: of a prompt file, see `promptTrustText`. */
export function trustState(
  { path, content }: { readonly path: string; readonly content: string },
  around: TrustAround,
): TrustState {
  const { workspace } = around
  const trusted = readTrusted(trustFile(around), around.reads).get(trustKey(path, workspace))
  if (trusted === undefined) return 'untrusted'
  return isUnchanged(trusted, content, workspace) ? 'trusted' : 'changed'
}

/** Whether it has the content with which it was trusted, and its values name the same files with the same content. */
export function isUnchanged(entry: TrustedFile, content: string, workspace?: string): boolean {
  const { hash, leads = {}, sealed, names: clear = { words: [], folders: [] } } = entry
  if (hash !== sha256(content)) return false
  const names = sealed === undefined ? clear : openNames(sealed, content)
  if (names === undefined) return false
  const { words, folders } = names
  const starts = workspace === undefined || words.length === 0 ? folders : [...new Set([...folders, workspace])]
  const present = { ...filesNamed(Object.keys(leads), []), ...filesNamed(words, starts) }
  const paths = Object.keys(present)
  return paths.length === Object.keys(leads).length && paths.every((path) => present[path] === leads[path])
}

/** The content that counts for trust in a prompt file: the part above its `====` line, without trailing whitespace. */
export function promptTrustText({ text, transcriptLine }: Pick<PromptDocument, 'text' | 'transcriptLine'>): string {
  const lines = text.split(/\r?\n/)
  const above = transcriptLine === undefined ? lines : lines.slice(0, transcriptLine - 1)
  return above.join('\n').trimEnd()
}
