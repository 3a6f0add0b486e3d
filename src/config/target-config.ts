import { isAbsolute, resolve } from 'node:path'
import { type DataPath, pathText } from '../base/data-text.ts'
import { isInside, realPath } from '../base/files.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readConfigFiles } from './config-files.ts'
import { environmentLayers, type Flags, flagLayers, readOverrides, recordedServerLayers } from './flags.ts'
import { type Finding, type Issue, throwIssues, wrongValue } from './issue.ts'
import { reserved } from './keys.ts'
import { type Layer, mergeLayers, originsOf, placeOrigins, type SourcedValue } from './layers.ts'
import { type Surroundings, userConfigFile } from './locate.ts'
import type { LeftOutServers } from './left-out-servers.ts'
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
  readonly leftOut: readonly LeftOutServers[]
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
  readonly leftOut: readonly LeftOutServers[]
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
  const globs = Object.keys(values).filter((key) => /_globs(?:_pre|_post)?$/.test(key))
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
