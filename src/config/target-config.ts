import { resolve } from 'node:path'
import type { JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { checkBounds } from './bounds.ts'
import { readConfigFiles } from './config-files.ts'
import { readOverrides, type Flags } from './flags.ts'
import { throwIssues, type Issue } from './issue.ts'
import { mergeLayers, placeOrigins, type Layer, type SourcedValue } from './layers.ts'
import type { Environment, Surroundings } from './locate.ts'
import { defaultLayer, settingsOf, type Settings } from './settings.ts'

export interface ConfigOptions extends Surroundings {
  readonly flags: Flags
  /** The target is run as an agent: what `-c` says of models stands below what it says itself. */
  readonly isAgent?: boolean
  /** Told what is read, and asked what is stored. */
  readonly reads?: ReadLog | undefined
}

/** The layers around one agent: those it wins over, and those that win over it (DESIGN 3). */
export interface SurroundingLayers {
  readonly workspace: string
  readonly userFile: string
  readonly below: readonly Layer[]
  readonly above: readonly Layer[]
  /** Those of the layers above that are for the agents of the run, too: `-c`. */
  readonly shared: readonly Layer[]
  readonly issues: readonly Issue[]
  /** What `baton check` says and a run does not. */
  readonly notes: readonly Issue[]
}

export interface TargetConfig {
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly settings: Settings
  /** Those of the config files and of `-c`: what agents start from that are not the main agent. */
  readonly configSettings: Settings
  /** What the environment and flags set: it wins over what the main agent itself says. */
  readonly flagValues: JsonObject
  readonly notes: readonly Issue[]
  readonly origins: readonly SourcedValue[]
}

/**
 * Config for a target that has no front matter: an `.aip` or `.lua` file, or none at all.
 * @throws BatonError CONFIG_INVALID, USAGE, NOT_AVAILABLE, UNTRUSTED, OUTSIDE_WORKSPACE
 */
export async function loadTargetConfig(options: ConfigOptions): Promise<TargetConfig> {
  const { workspace, below, above, shared, issues, notes } = await readLayers(options)
  throwIssues(issues)
  const merged = mergeLayers([...below, ...above])
  throwIssues(await placeOrigins(checkBounds(merged.values, { workspace }), merged.origins))
  return {
    workspace,
    settings: settingsOf(merged.values, { workspace }),
    configSettings: settingsOf(mergeLayers([...below, ...shared]).values, { workspace }),
    flagValues: mergeLayers(above).values,
    notes,
    origins: merged.origins,
  }
}

/** Reads all layers but the front matter. What is wrong with them is not thrown, so that all can be said at once. */
export async function readLayers(options: ConfigOptions): Promise<SurroundingLayers> {
  const { workspace, userFile, layers, issues, notes } = await readConfigFiles(options)
  const { layers: flags, issues: wrong } = await readOverrides(options.flags.overrides, { userFile })
  // of the file that is run they are checked; its agents have them once it is right
  const isAgent = options.isAgent === true
  return {
    workspace,
    userFile,
    below: [defaultLayer, ...layers, ...(isAgent ? flags.map(ofModels) : [])],
    above: [...environmentLayers(options.env), ...(isAgent ? [] : flags), ...ownFlags(options)],
    shared: isAgent ? [] : flags.map(ofModels),
    issues: [...issues, ...(isAgent ? [] : wrong)],
    notes,
  }
}

/** What of `-c` says how models are asked; what files are read and written is for the file that is run. */
function ofModels(layer: Layer): Layer {
  const values = Object.entries(layer.values).filter(([key]) => modelKeys.has(key))
  return { ...layer, values: Object.fromEntries(values) }
}

const modelKeys: ReadonlySet<string> = new Set([
  'model',
  'model_aliases',
  'fallback_models',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'reasoning_summary',
  'seed',
  'input_concurrency',
  'allow_run_on_task_fail',
])

function environmentLayers(env: Environment): readonly Layer[] {
  const model = env['BATON_MODEL']
  const url = env['BATON_GATEWAY_URL']
  return [
    ...(model === undefined || model === '' ? [] : [environmentLayer('BATON_MODEL', { model })]),
    ...(url === undefined || url === ''
      ? []
      : [environmentLayer('BATON_GATEWAY_URL', { gateway: { base_url: url, ...gatewayKey(env) } })]),
  ]
}

function gatewayKey(env: Environment): JsonObject {
  return (env['BATON_GATEWAY_KEY'] ?? '') === '' ? {} : { api_key_env: 'BATON_GATEWAY_KEY' }
}

function environmentLayer(name: string, values: JsonObject): Layer {
  return { origin: { kind: 'environment', name }, values }
}

function ownFlags({ cwd, flags: { model, outputSchema } }: ConfigOptions): readonly Layer[] {
  return [
    ...(model === undefined ? [] : [flagLayer('-m', { model })]),
    ...(outputSchema === undefined
      ? []
      : [flagLayer('--output-schema', { output: { schema: resolve(cwd, outputSchema) } })]),
  ]
}

function flagLayer(name: string, values: JsonObject): Layer {
  return { origin: { kind: 'flag', name }, values }
}
