import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type ReadLog, readSource, sourceExists } from '../base/reads.ts'
import { isMerge, type Merge } from '../config/agent-config.ts'
import { readTomlFile } from '../base/toml.ts'
import { errorAt, mismatch, wrongValue } from '../settings/issue.ts'
import { type Capabilities, readCapabilities } from './capabilities.ts'
import { identifier, type PackName } from './pack-ref.ts'
import type { AgentFile } from './resolve.ts'

export const manifestName = 'pack.toml'

/** The keys of `pack.toml` that Baton reads. */
export interface PackManifest extends PackName {
  /** `namespace@name`. */
  readonly identity: string
  readonly version: string
  /** Undefined without the table: the pack is not restricted. */
  readonly capabilities: Capabilities | undefined
  /** `[installed]`: written when a pack is installed, by AIPack too. */
  readonly installed: { readonly source?: string; readonly commit?: string } | undefined
}

/** The versions that AIPack packs: no build metadata, one number after the word. */
const packable = /^\d+\.\d+\.\d+(?:-[A-Za-z][\w-]*(?:\.\d+)?)?$/

const needed = [
  ['namespace', identifier, 'Under [pack], write namespace = "yours": letters, digits, _ and -.'],
  ['name', identifier, 'Under [pack], write name = "pack": letters, digits, _ and -.'],
  ['version', packable, 'Under [pack], write version = "1.2.3", or "1.2.3-rc.1".'],
] as const

/**
 * Parses the text of a `pack.toml`; `file` is its name in messages.
 * @throws BatonError CONFIG_INVALID with its place
 */
export async function readPackManifest(written: string, file: string): Promise<PackManifest> {
  const source = await readTomlFile(file, written)
  const { data } = source
  const pack = isJsonObject(data['pack']) ? data['pack'] : {}
  for (const [key, pattern, hint] of needed) {
    const value = pack[key]
    if (typeof value === 'string' && pattern.test(value)) continue
    const shown = JSON.stringify(value)
    const message = value === undefined ? `${file} has no "${key}"` : `"pack.${key}" cannot be ${shown}`
    throw await errorAt(wrongValue(['pack', key], { message, hint }), source)
  }
  const { namespace, name, version } = pack as { namespace: string; name: string; version: string }
  const read = data['capabilities'] === undefined ? undefined : readCapabilities(data['capabilities'])
  if (read !== undefined && 'problem' in read) throw await errorAt(read.problem, source)
  const identity = `${namespace}@${name}`
  return { namespace, name, identity, version, capabilities: read?.capabilities, installed: installedOf(data) }
}

function installedOf({ installed: table }: JsonObject): PackManifest['installed'] {
  if (!isJsonObject(table)) return undefined
  const texts = ['source', 'commit'].filter((key) => typeof table[key] === 'string')
  return Object.fromEntries(texts.map((key) => [key, table[key]]))
}

/**
 * How returned params are merged if the entry of the agent does not set it: `merge` of `[baton]` in the pack's
 * `pack.toml`, else `shallow` for agents named by a pack reference, else `replace`.
 * @throws BatonError CONFIG_INVALID, FILE_UNREADABLE for an unusable `pack.toml`
 */
export async function defaultMerge(
  { pack, builtIn }: Pick<AgentFile, 'pack' | 'builtIn'>,
  reads?: ReadLog,
): Promise<Merge> {
  if (pack === undefined || builtIn) return 'replace'
  const file = join(pack.dir, manifestName)
  if (!sourceExists(file, reads)) return 'shallow'
  refuseEscape(file, { within: pack.dir, cwd: pack.dir, reads })
  const source = await readTomlFile(file, readSource(file, reads))
  const { baton } = source.data
  const { merge = 'shallow' } = isJsonObject(baton) ? baton : {}
  if (isMerge(merge)) return merge
  throw await errorAt(mismatch(['baton', 'merge'], '"replace", "shallow" or "deep"', merge), source)
}

const ownTable = /\n*\[installed\]\n(?:(?:time|source|commit) = "(?:[^"\\\n]|\\.)*"\n){1,3}$/
const anyTable = /^\[installed\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|$))*/m

/**
 * The text of a `pack.toml` without `[installed]`, with that table added at the end. `source` is the URL or absolute
 * path it came from, without a password; `commit` is that of a git repository.
 */
export function withInstalled(
  text: string,
  { time, source, commit }: { readonly time: string; readonly source: string; readonly commit?: string },
): string {
  const entries = Object.entries({ time, source, commit }).filter(([, value]) => value !== undefined)
  const lines = entries.map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  return `${withoutOwnTable(text)}\n[installed]\n${lines.join('')}`
}

/** The text without the table that `withInstalled` has added: what a digest covers. */
export function withoutOwnTable(text: string): string {
  const rest = text.replace(ownTable, '')
  return rest === text ? text : `${rest}\n`
}

/**
 * The text without any `[installed]`, which describes an installation elsewhere.
 * @throws BatonError CONFIG_INVALID if the table is written in a form that cannot be removed
 */
export async function withoutInstalled(text: string, file: string): Promise<string> {
  const before = await readTomlFile(file, text)
  if (before.data['installed'] === undefined) return text
  const rest = withoutOwnTable(text) === text ? text.replace(anyTable, '') : withoutOwnTable(text)
  const { installed: _, ...wanted } = before.data
  if (canonicalJson(await dataOf(rest, file)) === canonicalJson(wanted)) return rest
  const message = `"installed" in ${file} cannot be replaced`
  const finding = wrongValue(['installed'], { message, hint: 'Remove it: it is written when a pack is installed.' })
  throw await errorAt(finding, before)
}

/** Null for text that is not TOML. */
async function dataOf(text: string, file: string): Promise<Json> {
  try {
    return (await readTomlFile(file, text)).data
  } catch (error) {
    if (isBatonError(error)) return null
    throw error
  }
}
