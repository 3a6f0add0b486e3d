import { resolve } from 'node:path'
import type { JsonObject } from '../base/json.ts'
import { type Issue, withPlace } from './issue.ts'
import type { Layer } from './layers.ts'
import type { Environment } from './locate.ts'

export interface Flags {
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

export function environmentLayers(env: Environment): readonly Layer[] {
  const { BATON_MODEL: model = '', BATON_GATEWAY_URL: url = '', BATON_GATEWAY_KEY: key = '' } = env
  const apiKey = key === '' ? {} : { api_key_env: 'BATON_GATEWAY_KEY' }
  return [
    ...(model === '' ? [] : [layerOf('environment', 'BATON_MODEL', { model })]),
    ...(url === '' ? [] : [layerOf('environment', 'BATON_GATEWAY_URL', { gateway: { base_url: url, ...apiKey } })]),
  ]
}

/** `-m` and `--output-schema`, whose file is relative to `cwd`. */
export function flagLayers({ flags, cwd }: { readonly flags: Flags; readonly cwd: string }): readonly Layer[] {
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
export function recordedServerLayers({ recordedServers: names = [] }: Flags): readonly Layer[] {
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
