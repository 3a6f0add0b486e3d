import type { JsonObject } from '../base/json.ts'
import { checkBounds } from './bounds.ts'
import { readConfigFiles } from './config-files.ts'
import { readOverrides, type Flags } from './flags.ts'
import { throwIssues, type Issue } from './issue.ts'
import { mergeLayers, placeOrigins, type Layer, type SourcedValue } from './layers.ts'
import type { Environment, Surroundings } from './locate.ts'
import { defaultLayer, settingsOf, type Settings } from './settings.ts'

export interface ConfigOptions extends Surroundings {
  readonly flags: Flags
}

/** The layers around one agent: those it wins over, and those that win over it (DESIGN 3). */
export interface SurroundingLayers {
  readonly workspace: string
  readonly userFile: string
  readonly below: readonly Layer[]
  readonly above: readonly Layer[]
  readonly issues: readonly Issue[]
}

export interface TargetConfig {
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly settings: Settings
  readonly origins: readonly SourcedValue[]
}

/**
 * Config for a target that has no front matter: an `.aip` or `.lua` file, or none at all.
 * @throws BatonError CONFIG_INVALID, USAGE, NOT_AVAILABLE, UNTRUSTED, OUTSIDE_WORKSPACE
 */
export async function loadTargetConfig(options: ConfigOptions): Promise<TargetConfig> {
  const { workspace, below, above, issues } = await readLayers(options)
  throwIssues(issues)
  const merged = mergeLayers([...below, ...above])
  throwIssues(await placeOrigins(checkBounds(merged.values, { workspace }), merged.origins))
  return { workspace, settings: settingsOf(merged.values, { workspace }), origins: merged.origins }
}

/** Reads all layers but the front matter. What is wrong with them is not thrown, so that all can be said at once. */
export async function readLayers(options: ConfigOptions): Promise<SurroundingLayers> {
  const { workspace, userFile, layers, issues } = await readConfigFiles(options)
  const overrides = await readOverrides(options.flags.overrides, { userFile })
  return {
    workspace,
    userFile,
    below: [defaultLayer, ...layers],
    above: [...environmentLayers(options.env), ...overrides.layers, ...modelFlag(options.flags)],
    issues: [...issues, ...overrides.issues],
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

function modelFlag({ model }: Flags): readonly Layer[] {
  return model === undefined ? [] : [{ origin: { kind: 'flag', name: '-m' }, values: { model } }]
}
