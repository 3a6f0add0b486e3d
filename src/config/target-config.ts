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
  /** Told what is read, and asked what is stored. */
  readonly reads?: ReadLog | undefined
}

/** The layers around one agent: those it wins over, and those that win over it (DESIGN 3). */
export interface SurroundingLayers {
  readonly workspace: string
  readonly userFile: string
  readonly below: readonly Layer[]
  readonly above: readonly Layer[]
  readonly issues: readonly Issue[]
  /** What `baton check` says and a run does not. */
  readonly notes: readonly Issue[]
}

export interface TargetConfig {
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly settings: Settings
  /** Those of the config files alone: what agents start from that are not the main agent. */
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
  const { workspace, below, above, issues, notes } = await readLayers(options)
  throwIssues(issues)
  const merged = mergeLayers([...below, ...above])
  throwIssues(await placeOrigins(checkBounds(merged.values, { workspace }), merged.origins))
  return {
    workspace,
    settings: settingsOf(merged.values, { workspace }),
    configSettings: settingsOf(mergeLayers(below).values, { workspace }),
    flagValues: mergeLayers(above).values,
    notes,
    origins: merged.origins,
  }
}

/** Reads all layers but the front matter. What is wrong with them is not thrown, so that all can be said at once. */
export async function readLayers(options: ConfigOptions): Promise<SurroundingLayers> {
  const { workspace, userFile, layers, issues, notes } = await readConfigFiles(options)
  const overrides = await readOverrides(options.flags.overrides, { userFile })
  return {
    workspace,
    userFile,
    below: [defaultLayer, ...layers],
    above: [...environmentLayers(options.env), ...overrides.layers, ...ownFlags(options)],
    issues: [...issues, ...overrides.issues],
    notes,
  }
}

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
