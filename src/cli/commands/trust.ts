import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, readSourceFile, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import type { JsonObject } from '../../base/json.ts'
import { parseToml } from '../../base/toml.ts'
import { checkTrust, guardedKeys } from '../../config/trust.ts'
import {
  promptTrustHash,
  readTrusted,
  type TrustedFile,
  type TrustedFiles,
  trustFile,
  writeTrusted,
} from '../../config/trust-store.ts'
import { type Surroundings, userConfigFile } from '../../config/locate.ts'
import { parsePrompt } from '../../prompt/document.ts'
import { surroundings } from '../environment.ts'
import { harmless } from '../../render/harmless.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface TrustFlags extends GlobalFlags {
  readonly files: readonly string[]
  readonly remove: boolean
}

/** `baton trust [FILE…]`: notes the content of files that set guarded keys, so that they may (DESIGN 3 "Trust"). */
export async function trustCommand(flags: TrustFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const around = trustPlaces({ cwd, env, home: io.home })
  if (flags.remove) return removeTrust(flags, around, io)
  return flags.files.length === 0 ? listTrust(flags, around, io) : addTrust(flags, around, io)
}

export interface TrustPlaces {
  /** Files are named relative to it. */
  readonly cwd: string
  /** Where it is kept what is trusted. */
  readonly store: string
  readonly userFile: string
}

export function trustPlaces({ cwd, env, home }: Surroundings): TrustPlaces {
  return { cwd, store: trustFile({ env, home }), userFile: userConfigFile({ env, home }) }
}

/**
 * What is to be noted of files so that they are trusted as they are now; all are looked at before the first is noted.
 * @throws BatonError for a file that cannot be read, cannot be trusted, or needs no trust
 */
export async function trustable(files: readonly string[], places: TrustPlaces): Promise<TrustedFiles> {
  const since = new Date().toISOString()
  return new Map(await Promise.all(files.map((file) => look(file, since, places))))
}

export function noteTrusted(files: TrustedFiles, { store }: TrustPlaces): void {
  writeTrusted(store, new Map([...readTrusted(store), ...files]))
}

async function addTrust({ files, json, level }: TrustFlags, around: TrustPlaces, io: CommandIo): Promise<number> {
  const looked = await trustable(files, around)
  noteTrusted(looked, around)
  for (const [path, { keys }] of looked) {
    if (json) io.out(`${JSON.stringify({ file: path, trusted: true, keys })}\n`)
    else io.out(`${harmless(displayPath(around.cwd, path))}: trusted with ${keys.join(', ')}\n`)
  }
  if (!json && level !== 'quiet') io.err('this holds until the files change; no key of yours is sent to their hosts\n')
  return 0
}

async function look(
  name: string,
  since: string,
  { cwd, userFile }: TrustPlaces,
): Promise<readonly [string, TrustedFile]> {
  const path = resolve(cwd, name)
  const { data, hash } = await read(path, displayPath(cwd, path))
  const keys = guardedKeys(data)
  if (keys.length === 0) {
    throw new BatonError('USAGE', `${name} sets nothing that needs trust`, { hint: 'It can be used as it is.' })
  }
  const [finding] = checkTrust(data, { file: name, userFile, state: 'trusted' })
  if (finding !== undefined)
    throw new BatonError(finding.code, finding.message, { place: { file: path }, hint: finding.hint })
  return [realPath(path), { hash, keys, since }]
}

async function read(path: string, file: string): Promise<{ readonly data: JsonObject; readonly hash: string }> {
  const raw = readSourceFile(path)
  if (path.endsWith('.md')) {
    const document = await parsePrompt(file, raw)
    return { data: document.meta.data, hash: promptTrustHash(document) }
  }
  if (!path.endsWith('.toml')) {
    throw new BatonError('USAGE', `${file} is neither a config file nor a prompt file`, {
      hint: 'Name a baton.toml, a .baton/config.toml or a prompt file (.md).',
    })
  }
  const text = raw.replace(/^\uFEFF/, '')
  const { data } = await parseToml({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
  return { data, hash: sha256(text) }
}

/** Also files that are not there any more. */
function removeTrust({ files, json, level }: TrustFlags, { cwd, store }: TrustPlaces, io: CommandIo): number {
  if (files.length === 0) throw new BatonError('USAGE', '--remove needs files', { hint: 'baton trust lists them.' })
  const trusted = new Map(readTrusted(store))
  let missing = 0
  for (const file of files) {
    const path = realPath(resolve(cwd, file))
    if (!trusted.delete(path)) {
      missing += 1
      if (!json) io.err(`${harmless(file)} was not trusted\n`)
    } else if (json) io.out(`${JSON.stringify({ file: path, trusted: false })}\n`)
    else if (level !== 'quiet') io.out(`${harmless(displayPath(cwd, path))}: trusted no more\n`)
  }
  writeTrusted(store, trusted)
  return missing === 0 ? 0 : 1
}

async function listTrust({ json, level }: TrustFlags, { cwd, store }: TrustPlaces, io: CommandIo): Promise<number> {
  const trusted = readTrusted(store)
  for (const [path, { keys, hash, since }] of trusted) {
    const state = await stateOf(path, hash)
    if (json) io.out(`${JSON.stringify({ file: path, keys, since, state })}\n`)
    else {
      const note =
        state === 'trusted' ? '' : ` (${state === 'changed' ? 'changed since: not trusted now' : 'not there now'})`
      io.out(`${harmless(displayPath(cwd, path))}: ${keys.join(', ')}${note}\n`)
    }
  }
  if (trusted.size === 0 && !json && level !== 'quiet') io.err('no file is trusted\n')
  return 0
}

async function stateOf(path: string, hash: string): Promise<'trusted' | 'changed' | 'missing'> {
  try {
    return (await read(path, path)).hash === hash ? 'trusted' : 'changed'
  } catch (error) {
    return error instanceof BatonError && error.code === 'FILE_UNREADABLE' ? 'missing' : 'changed'
  }
}
