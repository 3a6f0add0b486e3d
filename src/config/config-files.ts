import { dirname, resolve } from 'node:path'
import type { DataPath, DataText } from '../base/data-text.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { displayPath, realPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type ReadLog, readSource, sourceExists } from '../base/reads.ts'
import { readTomlFile } from '../base/toml.ts'
import { checkAgentOptions } from './agent-options.ts'
import type { SettingsScope } from './check-settings.ts'
import { type Finding, type Issue, type Located, notATable, placeFindings, wrongKey } from '../settings/issue.ts'
import { type Layer, originsOf, type SourcedValue } from './layers.ts'
import {
  type AipackConfigFile,
  aipackConfigFiles,
  findWorkspace,
  type Surroundings,
  userConfigFile,
  userMcpFile,
  workspaceConfigFile,
  workspaceMcpFile,
} from './locate.ts'
import type { UnusedServers } from './unused-servers.ts'
import { secureOwnPlaces } from './own-places.ts'
import { defaultLayer } from './settings.ts'

export interface ConfigFiles {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute path of the user's own config file, whether or not it exists. */
  readonly userFile: string
  /** AIPack's, the user's, then the workspace's, as far as they exist. */
  readonly layers: readonly Layer[]
  /** The user's values, with defaults: limits for what comes with the workspace. */
  readonly own: readonly SourcedValue[]
  readonly issues: readonly Issue[]
  /** Unknown keys: reported by `baton check` alone. */
  readonly notes: readonly Issue[]
  /** MCP servers that are not used. */
  readonly leftOut: readonly UnusedServers[]
}

interface ConfigContext extends Surroundings {
  readonly reads?: ReadLog | undefined
  /**
   * Whether the target is not a file of the workspace, so that the workspace config may set less; called if there is
   * one.
   */
  readonly isForeign?: (workspace: string) => boolean
  /** What the user sets for this call. */
  readonly overridden?: readonly SourcedValue[]
}

interface ConfigFile extends AipackConfigFile {
  /** `aipack`: only the options of script agents are read. `mcp`: JSON with MCP servers. */
  readonly form: 'baton' | 'aipack' | 'mcp'
}

/**
 * Finds the workspace and reads the config files.
 * @throws BatonError CONFIG_INVALID for TOML that cannot be parsed, FILE_UNREADABLE, UNTRUSTED if other users could
 * have written the user's own files
 */
export async function readConfigFiles(context: ConfigContext): Promise<ConfigFiles> {
  const { reads } = context
  secureOwnPlaces(context)
  const workspace = findWorkspace(context, reads)
  const userFile = userConfigFile(context)
  const workspaceFile = workspaceConfigFile(workspace, reads)
  const serverFile = workspaceMcpFile(workspace, reads)
  const possible: readonly ConfigFile[] = [
    ...aipackConfigFiles(workspace, context).map((file) => ({ ...file, form: 'aipack' }) as const),
    { path: userFile, kind: 'user', form: 'baton' },
    { path: userMcpFile(context), kind: 'user', form: 'mcp' },
    ...(serverFile === undefined ? [] : [{ path: serverFile, kind: 'workspace', form: 'mcp' } as const]),
    ...(workspaceFile === undefined ? [] : [{ path: workspaceFile, kind: 'workspace', form: 'baton' } as const]),
  ]
  const present = possible.filter(({ path }) => sourceExists(path, reads))
  const found = new Map<ConfigFile, ReadConfigFile>()
  const readAll = async (kind: ConfigFile['kind'], own: readonly SourcedValue[]): Promise<void> => {
    for (const file of present.filter((each) => each.kind === kind))
      found.set(file, await readConfigFile(file, { ...context, workspace, userFile, own }))
  }
  // the user's first: the others are limited by them
  await readAll('user', [])
  const own = userValues([...found.values()].map(({ layer }) => layer))
  await readAll('workspace', own)
  const read = present.flatMap((file) => found.get(file) ?? [])
  return {
    workspace,
    userFile,
    own,
    layers: read.map(({ layer }) => layer),
    issues: read.flatMap(({ issues }) => issues),
    notes: read.flatMap(({ notes }) => notes),
    leftOut: read.flatMap(({ leftOut }) => leftOut ?? []),
  }
}

/** The user's values, with defaults: limits for what comes with the workspace. */
export function userValues(layers: readonly Layer[]): readonly SourcedValue[] {
  const users = layers.filter(({ origin }) => origin.kind === 'user')
  return users.length === 0 ? (defaultValues ??= originsOf([defaultLayer])) : originsOf([defaultLayer, ...users])
}

/** The values of a user who has set nothing: cached, because files are checked by the thousand. */
let defaultValues: readonly SourcedValue[] | undefined

interface FileContext extends ConfigContext {
  readonly workspace: string
  readonly userFile: string
  readonly own: readonly SourcedValue[]
}

interface ReadConfigFile {
  readonly layer: Layer
  readonly issues: readonly Issue[]
  readonly notes: readonly Issue[]
  readonly leftOut?: readonly UnusedServers[]
}

async function readConfigFile(file: ConfigFile, context: FileContext): Promise<ReadConfigFile> {
  const { form } = file
  if (form === 'mcp') return (await import('./mcp-layer.ts')).readMcpLayer(file, context)
  if (file.kind === 'workspace') refuseEscape(file.path, { within: context.workspace, ...context })
  const written = readSource(file.path, context.reads)
  const source = await readTomlFile(displayPath(realPath(context.cwd), file.path), written)
  const { text, locate } = source
  const { values, at, findings, notes, tightens = false } = await checkFile({ ...file, form }, source, context)
  const { permission } = values
  const rules = async (): Promise<Pick<Layer, 'rules'>> => {
    const { locatedRules } = await import('./permission-rules.ts')
    return { rules: await locatedRules(permission, { file: source.file, locate, tightens }) }
  }
  const layer: Layer = {
    origin: { kind: file.kind, file: source.file },
    values: withPlugins(values, dirname(file.path)),
    locate: (path, part) => locate([...at, ...path], part),
    text,
    ...(form === 'aipack' && file.kind === 'workspace' ? { isAipack: true } : {}),
    ...(file.kind === 'user' || !tightens ? { isTrusted: true } : {}),
    ...(permission === undefined ? {} : await rules()),
  }
  return { layer, issues: await placeFindings(findings, source), notes: await placeFindings(notes, source) }
}

/** Names of modules are relative to the folder of their file. */
export function withPlugins(values: JsonObject, folder: string): JsonObject {
  const { plugins } = values
  if (!Array.isArray(plugins)) return values
  return { ...values, plugins: plugins.map((file: Json) => (typeof file === 'string' ? resolve(folder, file) : file)) }
}

interface CheckedFile {
  readonly values: JsonObject
  readonly at: DataPath
  readonly findings: readonly Finding[]
  readonly notes: readonly Finding[]
  /** It came with the workspace and is not trusted. */
  readonly tightens?: boolean
}

/** The checks are loaded only if there is a config file: most script runs have none. */
async function checkFile(
  { path, kind, form }: ConfigFile & { readonly form: Exclude<ConfigFile['form'], 'mcp'> },
  { file, text, data }: Located & DataText,
  context: FileContext,
): Promise<CheckedFile> {
  const { workspace, userFile, own, overridden = [] } = context
  const written = readForm(form, data)
  const isFoldersAipack = form === 'aipack' && kind === 'workspace'
  const read = isFoldersAipack ? { ...written, values: await withoutOwnAliases(written.values, own) } : written
  const { values, at } = read
  const check = async (scope: SettingsScope): Promise<readonly Finding[]> =>
    form === 'aipack' ? read.findings : (await import('./check-settings.ts')).checkSettings(data, { scope, userFile })
  if (kind === 'user') return { ...read, findings: await check('user') }
  const { checkTrust, exactGlobs, needsTrust, needyKeys, trustState, withoutKeys } = await import('./trust.ts')
  const { limitedModelNames } = await import('./limited-model-names.ts')
  const isForeign = context.isForeign?.(workspace) === true
  // its models and aliases need no trust: a run says what they change
  const { model_aliases: _, ...others } = values
  const limited = isFoldersAipack ? others : values
  const held = [...own, ...(await limitedModelNames(limited, own))]
  const needs = needsTrust(limited, { by: 'config', own: held, isForeign, overridden })
  if (needyKeys(needs).length === 0 && exactGlobs(values).length === 0)
    return { ...read, findings: await check('workspace'), tightens: true }
  const state = trustState({ path, content: text }, context)
  const refused = checkTrust(values, needs, { file, userFile, state })
  const placed = refused.map((finding) => ({ ...finding, path: [...at, ...finding.path] }))
  const findings = [...placed, ...(await check(state === 'trusted' ? 'trusted' : 'workspace'))]
  return { ...read, values: withoutKeys(values), findings, tightens: state !== 'trusted' }
}

/** Without aliases of names that the user has given, with or without an effort word. */
async function withoutOwnAliases(values: JsonObject, own: readonly SourcedValue[]): Promise<JsonObject> {
  const { model_aliases: aliases } = values
  if (!isJsonObject(aliases)) return values
  const { effortWord } = await import('./weaker-settings.ts')
  const isOwn = (name: string): boolean =>
    own.some(({ path: [key, alias], layer: { origin } }) => {
      // AIPack writes the default file itself
      const isUsers = origin.kind === 'user' && !origin.file.endsWith('config-default.toml')
      return isUsers && key === 'model_aliases' && (alias === name || alias === name.replace(effortWord, ''))
    })
  const kept = Object.entries(aliases).filter(([name]) => !isOwn(name))
  return { ...values, model_aliases: Object.fromEntries(kept) }
}

/** The values of a config file; Baton's own files are not checked yet. */
export function readForm(form: Exclude<ConfigFile['form'], 'mcp'>, data: JsonObject): CheckedFile {
  return form === 'aipack' ? readOptions(data) : { values: data, at: [], findings: [], notes: [] }
}

const sections = ['options', 'default_options'] as const
const oldSection = 'default-options'

/** The options of script agents in a config file of AIPack: `[options]`, or `[default_options]` if that is missing. */
function readOptions(data: JsonObject): CheckedFile {
  const section = sections.find((name) => Object.hasOwn(data, name)) ?? 'options'
  const renamed = { message: `[${oldSection}] is no longer read`, hint: 'Rename it to [options].' }
  const old = Object.hasOwn(data, oldSection) ? [wrongKey([oldSection], renamed)] : []
  const table = data[section] ?? {}
  const { values, findings, unknown } = isJsonObject(table)
    ? checkAgentOptions(table, [section])
    : { values: {}, findings: [notATable(section)], unknown: [] }
  const hint = 'Only [options] is read; API keys come from the environment.'
  const unread = Object.keys(data)
    .filter((key) => ![...sections, oldSection].includes(key))
    .map((key) => wrongKey([key], { message: `nothing reads "${key}" in this file`, hint }))
  return { values, at: [section], findings: [...old, ...findings], notes: [...unread, ...unknown] }
}
