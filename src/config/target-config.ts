import { isAbsolute, resolve } from 'node:path'
import { type DataPath, pathText } from '../base/data-text.ts'
import { isInside, realPath } from '../base/files.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readConfigFiles } from './config-files.ts'
import { type Finding, type Issue, throwIssues, withPlace, wrongValue } from '../settings/issue.ts'
import { globsKind, reserved } from '../settings/keys.ts'
import { type Layer, mergeLayers, originsOf, placeOrigins, type SourcedValue } from './layers.ts'
import { type Environment, type Surroundings, userConfigFile } from './locate.ts'
import type { UnusedServers } from './unused-servers.ts'
import { defaultLayer, type Settings, settingsOf } from './settings.ts'

export interface ConfigOptions extends Surroundings {
  readonly flags: Flags
  /** The target is run as an agent: `-c` is below its own keys, and only its keys about models apply. */
  readonly isAgent?: boolean
  /** Whether the target is not a file of the workspace, so that the workspace config may set less. */
  readonly isForeign?: (workspace: string) => boolean
  /** Records reads, and holds stored texts. */
  readonly reads?: ReadLog | undefined
}

/** The layers around one agent: those below its own keys, and those above. */
export interface SurroundingLayers {
  readonly workspace: string
  readonly userFile: string
  /** The user's values, with defaults: limits for what comes with the workspace. */
  readonly own: readonly SourcedValue[]
  /** The values that `-c` overrides. */
  readonly overridden: readonly SourcedValue[]
  readonly below: readonly Layer[]
  readonly above: readonly Layer[]
  /** The layers above that also apply to the agents of the run: `-c`. */
  readonly shared: readonly Layer[]
  readonly issues: readonly Issue[]
  /** What `baton check` reports and a run does not. */
  readonly notes: readonly Issue[]
  /** MCP servers that are not used because their file is not trusted. */
  readonly leftOut: readonly UnusedServers[]
}

export interface TargetConfig {
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly settings: Settings
  /** Settings of the config files and of `-c`: the base for agents other than the main agent. */
  readonly configSettings: Settings
  /** Values from the environment and flags: they take precedence over the keys of the main agent. */
  readonly flagValues: JsonObject
  readonly notes: readonly Issue[]
  readonly leftOut: readonly UnusedServers[]
  readonly origins: readonly SourcedValue[]
  /** All layers, weakest first. */
  readonly layers: readonly Layer[]
}

/**
 * Config for a target without front matter: an `.aip` or `.lua` file, or no target at all.
 * @throws BatonError CONFIG_INVALID, USAGE, NOT_AVAILABLE, UNTRUSTED, OUTSIDE_WORKSPACE
 */
export async function loadTargetConfig(options: ConfigOptions): Promise<TargetConfig> {
  const { workspace, below, above, shared, issues, notes, leftOut } = await readLayers(options)
  throwIssues(issues)
  const merged = mergeLayers([...below, ...above])
  throwIssues(await placeOrigins(checkBounds(merged.values, { workspace }), merged.origins))
  return {
    workspace,
    settings: settingsOf(merged.values, { workspace }),
    configSettings: settingsOf(mergeLayers([...below, ...shared]).values, { workspace }),
    flagValues: mergeLayers(above).values,
    notes,
    leftOut,
    origins: merged.origins,
    layers: [...below, ...above],
  }
}

/**
 * Reads all layers but the front matter. Errors in them are collected, not thrown, so that all are reported together.
 */
export async function readLayers(options: ConfigOptions): Promise<SurroundingLayers> {
  const overrides = await readOverrides(options.flags.overrides, { userFile: userConfigFile(options) })
  const isMain = options.isAgent !== true
  const overridden = isMain ? originsOf(overrides.layers) : []
  const { workspace, userFile, own, layers, issues, notes, ...found } = await readConfigFiles({
    ...options,
    overridden,
  })
  const outer = environmentLayers(options.env)
  const inner = [...flagLayers(options), ...recordedServerLayers(options.flags)]
  const leftOut = options.flags.recordedServers === undefined ? found.leftOut : []
  const forModels = overrides.layers.map(ofModels)
  const common = { workspace, userFile, own, overridden, notes, leftOut }
  const below = [defaultLayer, ...layers]
  // overrides are checked once, for the file that is run: its agents are loaded after that
  if (!isMain) {
    return { ...common, below: [...below, ...forModels], above: [...outer, ...inner], shared: [], issues }
  }
  const above = [...outer, ...overrides.layers, ...inner]
  return { ...common, below, above, shared: forModels, issues: [...issues, ...overrides.issues] }
}

/** The keys of `-c` that are about models; the others apply only to the file that is run. */
function ofModels(layer: Layer): Layer {
  const values = Object.entries(layer.values).filter(([key]) => reserved.get(key)?.isForModels === true)
  return { ...layer, values: Object.fromEntries(values) }
}

/**
 * `base_dir` must not leave the workspace, by `..`, by an absolute path or through a link; globs must not leave
 * `base_dir` by their text. What a glob matches through links is checked where files are listed.
 */
export function checkBounds(values: JsonObject, { workspace }: { readonly workspace: string }): readonly Finding[] {
  const baseDir = values['base_dir']
  const globs = Object.keys(values).filter((key) => globsKind(key) !== undefined)
  return [
    ...(typeof baseDir === 'string' ? checkBaseDir(baseDir, workspace) : []),
    ...globs.flatMap((key) => checkGlobs(values[key] ?? null, [key])),
  ]
}

function checkBaseDir(baseDir: string, workspace: string): readonly Finding[] {
  if (isInside(workspace, realPath(resolve(workspace, baseDir)))) return []
  const isLink = isInside(workspace, resolve(workspace, baseDir))
  const message = `base_dir "${baseDir}" is outside the workspace ${workspace}${isLink ? ' through a link' : ''}`
  return [outside(['base_dir'], message, 'Name a folder inside the workspace, or start from the folder you mean (-C).')]
}

function checkGlobs(value: Json, path: DataPath): readonly Finding[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((item, index) => checkGlobs(item, [...path, index]))
  if (typeof value !== 'string' || !leaves(value)) return []
  const hint = 'Globs are relative to base_dir and stay below it: set base_dir, or write a relative glob without "..".'
  return [outside(path, `${pathText(path)}: the glob "${value}" leaves base_dir`, hint)]
}

function outside(path: DataPath, message: string, hint: string): Finding {
  return { ...wrongValue(path, { message, hint }), code: 'OUTSIDE_WORKSPACE' }
}

/** Absolute, or above its start at any point; also inside brace alternatives. */
function leaves(glob: string): boolean {
  const text = glob.startsWith('!') ? glob.slice(1) : glob
  if (isAbsolute(text) || /^[A-Za-z]:[/\\]/.test(text)) return true
  let depth = 0
  for (const step of text.split(/[/\\]/)) {
    if (/(?:^|[{,(|])\.\.(?:$|[,})|])/.test(step)) depth -= 1
    else if (step !== '' && step !== '.' && step !== '**') depth += 1
    if (depth < 0) return true
  }
  return false
}

interface Flags {
  /** `-m`. */
  readonly model?: string
  /** `-c key=value`, in order. They apply to the whole run. */
  readonly overrides: readonly string[]
  /** `--var name=value`. Omitted if the file is not run now, so that its variables have no values. */
  readonly vars?: readonly string[]
  /** `--output-schema`: the name of a file as given, or the schema itself. */
  readonly outputSchema?: string | JsonObject
  /** Names of the MCP servers of a replayed run: its tools are known, whatever is configured here. */
  readonly recordedServers?: readonly string[]
  /** The same for servers that a pack (`namespace@name`) brought for its agents. Set for every replay. */
  readonly recordedOfPack?: (pack: string) => readonly string[] | undefined
  /** In a resumed or replayed run: whether the version that recorded it had a tool of this name. */
  readonly isRecordedTool?: (name: string) => boolean
}

/** Reads all `-c`: one layer each, so that later ones take precedence and each is the named origin of what it sets. */
export async function readOverrides(
  overrides: readonly string[],
  { userFile }: { readonly userFile: string },
): Promise<{ readonly layers: readonly Layer[]; readonly issues: readonly Issue[] }> {
  if (overrides.length === 0) return { layers: [], issues: [] }
  const [{ checkSettings }, { overrideName, parseOverride }, { rulesOf }] = await Promise.all([
    import('./check-settings.ts'),
    import('./override.ts'),
    import('./permission-rules.ts'),
  ])
  const layers: Layer[] = []
  const issues: Issue[] = []
  for (const text of overrides) {
    const values = await parseOverride(text)
    const name = overrideName(text, values)
    const { permission } = values
    const rules = permission === undefined ? {} : { rules: rulesOf(permission, { origin: name }) }
    layers.push({ ...layerOf('flag', name, values), ...rules })
    issues.push(...checkSettings(values, { scope: 'flag', userFile }).map((found) => withPlace(found, { file: name })))
  }
  return { layers, issues }
}

function environmentLayers(env: Environment): readonly Layer[] {
  const { BATON_MODEL: model = '', BATON_GATEWAY_URL: url = '', BATON_GATEWAY_KEY: key = '' } = env
  const apiKey = key === '' ? {} : { api_key_env: 'BATON_GATEWAY_KEY' }
  return [
    ...(model === '' ? [] : [layerOf('environment', 'BATON_MODEL', { model })]),
    ...(url === '' ? [] : [layerOf('environment', 'BATON_GATEWAY_URL', { gateway: { base_url: url, ...apiKey } })]),
  ]
}

/** `-m` and `--output-schema`, whose file is relative to `cwd`. */
function flagLayers({ flags, cwd }: { readonly flags: Flags; readonly cwd: string }): readonly Layer[] {
  const { model, outputSchema: schema } = flags
  return [
    ...(model === undefined ? [] : [layerOf('flag', '-m', { model })]),
    ...(schema === undefined
      ? []
      : [layerOf('flag', '--output-schema', { output: { schema: inFolder(schema, cwd) } })]),
  ]
}

/**
 * Those servers as settings; they are not started. Above all other layers, which may configure servers of the same
 * name.
 */
function recordedServerLayers({ recordedServers: names = [] }: Flags): readonly Layer[] {
  if (names.length === 0) return []
  const servers = Object.fromEntries(names.map((name) => [name, { command: 'the record' }]))
  return [layerOf('flag', '--replay', { mcp_servers: servers })]
}

function inFolder(schema: string | JsonObject, cwd: string): string | JsonObject {
  return typeof schema === 'string' ? resolve(cwd, schema) : schema
}

function layerOf(kind: 'environment' | 'flag', name: string, values: JsonObject): Layer {
  return { origin: { kind, name }, values }
}
