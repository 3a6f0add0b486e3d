import type { DataPath, DataText } from '../base/data-text.ts'
import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import { type ReadLog, readSource, sourceExists } from '../base/reads.ts'
import { checkAgentOptions } from './agent-options.ts'
import { type Finding, type Issue, type Located, notATable, placeFindings, readTomlFile, wrongKey } from './issue.ts'
import type { Layer } from './layers.ts'
import {
  type AipackConfigFile,
  aipackConfigFiles,
  findWorkspace,
  type Surroundings,
  userConfigFile,
  workspaceConfigFile,
} from './locate.ts'

export interface ConfigFiles {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute path of the user's own config file, whether it exists or not. */
  readonly userFile: string
  /** AIPack's, the user's, then the workspace's, as far as they exist. */
  readonly layers: readonly Layer[]
  readonly issues: readonly Issue[]
  /** Keys that nothing reads: reported by `baton check` alone. */
  readonly notes: readonly Issue[]
}

interface ConfigContext extends Surroundings {
  readonly reads?: ReadLog | undefined
}

interface ConfigFile extends AipackConfigFile {
  /** `aipack`: only the options of script agents are read. */
  readonly form: 'baton' | 'aipack'
}

/**
 * Finds the workspace and reads the config files.
 * @throws BatonError CONFIG_INVALID for TOML that cannot be parsed, FILE_UNREADABLE
 */
export async function readConfigFiles(context: ConfigContext): Promise<ConfigFiles> {
  const { reads } = context
  const workspace = findWorkspace(context, reads)
  const userFile = userConfigFile(context)
  const workspaceFile = workspaceConfigFile(workspace, reads)
  const possible: readonly ConfigFile[] = [
    ...aipackConfigFiles(workspace, context).map((file) => ({ ...file, form: 'aipack' }) as const),
    { path: userFile, kind: 'user', form: 'baton' },
    ...(workspaceFile === undefined ? [] : [{ path: workspaceFile, kind: 'workspace', form: 'baton' } as const]),
  ]
  const found = []
  for (const file of possible)
    if (sourceExists(file.path, reads)) found.push(await readConfigFile(file, { ...context, userFile }))
  return {
    workspace,
    userFile,
    layers: found.map(({ layer }) => layer),
    issues: found.flatMap(({ issues }) => issues),
    notes: found.flatMap(({ notes }) => notes),
  }
}

interface FileContext extends ConfigContext {
  readonly userFile: string
}

async function readConfigFile(file: ConfigFile, context: FileContext) {
  const written = readSource(file.path, context.reads)
  const source = await readTomlFile(displayPath(realPath(context.cwd), file.path), written)
  const { data, text, locate } = source
  const checked = file.form === 'aipack' ? readOptions(data) : await checkOwnFile(file, source, context)
  const { values, at, findings, notes } = checked
  const layer: Layer = {
    origin: { kind: file.kind, file: source.file },
    values,
    locate: (path, part) => locate([...at, ...path], part),
    text,
  }
  return { layer, issues: await placeFindings(findings, source), notes: await placeFindings(notes, source) }
}

interface CheckedFile {
  readonly values: JsonObject
  readonly at: DataPath
  readonly findings: readonly Finding[]
  readonly notes: readonly Finding[]
}

/** What checks is loaded only where there is a config file: most runs of a script have none. */
async function checkOwnFile(
  { path, kind }: ConfigFile,
  { file, text, data }: Located & DataText,
  context: FileContext,
): Promise<CheckedFile> {
  const { userFile } = context
  const [{ checkSettings }, trust] = await Promise.all([import('./check-settings.ts'), import('./trust.ts')])
  if (kind === 'user' || trust.guardedKeys(data).length === 0)
    return { values: data, at: [], findings: checkSettings(data, { scope: kind, userFile }), notes: [] }
  const state = trust.trustState({ path, hash: sha256(text) }, context)
  const scope = state === 'trusted' ? 'trusted' : kind
  const findings = [...trust.checkTrust(data, { file, userFile, state }), ...checkSettings(data, { scope, userFile })]
  return { values: trust.withoutKeys(data), at: [], findings, notes: [] }
}

const sections = ['options', 'default_options'] as const
const oldSection = 'default-options'

/**
 * The options of script agents in a config file of AIPack: `[options]`, or `[default_options]` where that is missing.
 */
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
