import type { DataPath, DataText } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { type Capabilities, readCapabilities } from './capabilities.ts'

/** What `pack.toml` says of a pack (spec/aipack.md 7.1). Other keys and tables are not looked at. */
export interface PackManifest {
  readonly namespace: string
  readonly name: string
  /** `namespace@name`. */
  readonly identity: string
  readonly version: string
  /** Undefined without the table: the pack is not held to anything. */
  readonly capabilities: Capabilities | undefined
  /** What `[installed]` says: written when a pack is installed, by AIPack too. */
  readonly installed: InstalledTable | undefined
}

interface InstalledTable {
  readonly source?: string
  readonly commit?: string
}

/** Also what the name of a folder must be, so that the pack can be named. */
const identifier = /^[A-Za-z_][A-Za-z0-9_-]*$/
/** As AIPack packs (spec/aipack.md 7.1): no build metadata, one number behind the word. */
const packable = /^\d+\.\d+\.\d+(?:-[A-Za-z][\w-]*(?:\.\d+)?)?$/

/**
 * Reads the text of a `pack.toml`; `file` is its name in messages.
 * @throws BatonError CONFIG_INVALID with its place
 */
export async function readPackManifest(text: string, file: string): Promise<PackManifest> {
  const { data, locate } = await parsePackToml(text, file)
  const fail = async (message: string, hint: string, path: DataPath): Promise<BatonError> => {
    const place = { file, text, ...(await locate(path, 'value')) }
    return new BatonError('CONFIG_INVALID', message, { place, hint })
  }
  const pack = isJsonObject(data['pack']) ? data['pack'] : {}
  for (const [key, pattern, hint] of needed) {
    const value = pack[key]
    if (typeof value === 'string' && pattern.test(value)) continue
    const message = value === undefined ? `${file} does not say "${key}"` : `"pack.${key}" cannot be ${show(value)}`
    throw await fail(message, hint, ['pack', key])
  }
  const { namespace, name, version } = pack as { namespace: string; name: string; version: string }
  const read = data['capabilities'] === undefined ? undefined : readCapabilities(data['capabilities'])
  if (read !== undefined && 'problem' in read)
    throw await fail(read.problem.message, read.problem.hint, read.problem.path)
  const identity = `${namespace}@${name}`
  return { namespace, name, identity, version, capabilities: read?.capabilities, installed: installedOf(data) }
}

const needed = [
  ['namespace', identifier, 'Under [pack], write namespace = "yours": letters, digits, _ and -.'],
  ['name', identifier, 'Under [pack], write name = "pack": letters, digits, _ and -.'],
  ['version', packable, 'Under [pack], write version = "1.2.3", or "1.2.3-rc.1".'],
] as const

function show(value: unknown): string {
  return JSON.stringify(value)
}

/** The data of a `pack.toml`, and where it is written. */
export function parsePackToml(raw: string, file: string): Promise<DataText> {
  const text = raw.replace(/^\uFEFF/, '')
  return parseToml({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
}

function installedOf(data: JsonObject): InstalledTable | undefined {
  const table = data['installed']
  if (!isJsonObject(table)) return undefined
  const { source, commit } = table
  return {
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof commit === 'string' ? { commit } : {}),
  }
}
