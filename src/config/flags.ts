import { resolve } from 'node:path'
import { BatonError, isBatonError } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { type Issue, readTomlFile, withPlace } from './issue.ts'
import type { Layer } from './layers.ts'
import type { Environment } from './locate.ts'

export interface Flags {
  /** `-m`. */
  readonly model?: string
  /** `-c key=value`, in order. They are for the whole run. */
  readonly overrides: readonly string[]
  /** `--var name=value`. Left out: the file is not run now, so its variables have no values. */
  readonly vars?: readonly string[]
  /** `--output-schema`: the name of a file as given, or the schema itself. */
  readonly outputSchema?: string | JsonObject
}

/**
 * Reads one `-c key=value`: the key may be dotted, the value is TOML, and text that is not TOML is taken as it is, so
 * that `-c model=gpt-5-mini` needs no quotes. Of `permission.TOOL.PATTERN=EFFECT` the pattern is what stands between the dot
 * behind the tool and the last `=`, so that dots, spaces and `=` need no quotes in it either.
 * @throws BatonError USAGE for text without `=` or with a key that cannot be parsed
 */
export async function parseOverride(text: string): Promise<JsonObject> {
  const rule = parseRule(text)
  if (rule !== undefined) return rule
  const split = text.indexOf('=')
  const key = text.slice(0, Math.max(0, split)).trim()
  const value = text.slice(split + 1).trim()
  if (split === -1 || key === '' || /[\r\n]/.test(key)) throw badFlag(text)
  const asToml = /[\r\n]/.test(value) ? undefined : await readToml(`${key} = ${value}`)
  // of JSON strings TOML refuses only a raw DEL
  const quoted = JSON.stringify(value).replaceAll('\u007F', String.raw`\u007F`)
  const values = asToml ?? (await readToml(`${key} = ${quoted}`))
  if (values === undefined) throw badFlag(text)
  return values
}

/** `permission.TOOL=EFFECT` or `permission.TOOL.PATTERN=EFFECT`, each part plain or in quotes; undefined for all else. */
function parseRule(text: string): JsonObject | undefined {
  const found = /^\s*permission\.(?<tool>"[^"]*"|'[^']*'|[^.\s"'={]+)(?:\.(?<pattern>.+))?=\s*(?<effect>[^=]*)$/s.exec(
    text,
  )
  const { tool, pattern, effect = '' } = found?.groups ?? {}
  // tables are TOML
  if (tool === undefined || /[\r\n]/.test(text) || /[{}]/.test(effect)) return undefined
  const value = unquoted(effect.trim())
  return { permission: { [unquoted(tool)]: pattern === undefined ? value : { [unquoted(pattern.trim())]: value } } }
}

function unquoted(text: string): string {
  const [, single, double] = /^(?:'([^']*)'|("(?:[^"\\]|\\.)*"))$/.exec(text) ?? []
  if (double === undefined) return single ?? text
  try {
    return String(JSON.parse(double))
  } catch {
    return double.slice(1, -1)
  }
}

async function readToml(block: string): Promise<JsonObject | undefined> {
  try {
    return (await readTomlFile('-c', block)).data
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

function badFlag(text: string): BatonError {
  const hint = 'Write -c key=value, for example -c temperature=0.2 or -c lua.timeout=5s.'
  return new BatonError('USAGE', `-c ${text} is not key=value`, { hint })
}

/** Reads all `-c`: one layer each, so that later ones win and each is named as the origin of what it sets. */
export async function readOverrides(
  overrides: readonly string[],
  { userFile }: { readonly userFile: string },
): Promise<{ readonly layers: readonly Layer[]; readonly issues: readonly Issue[] }> {
  if (overrides.length === 0) return { layers: [], issues: [] }
  const { checkSettings } = await import('./check-settings.ts')
  const layers: Layer[] = []
  const issues: Issue[] = []
  for (const text of overrides) {
    const values = await parseOverride(text)
    // the value may be a secret that was put there by mistake
    const end = values['permission'] === undefined ? text.indexOf('=') : text.lastIndexOf('=')
    const name = `-c ${text.slice(0, end).trim()}`
    layers.push(layerOf('flag', name, values))
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

function inFolder(schema: string | JsonObject, cwd: string): string | JsonObject {
  return typeof schema === 'string' ? resolve(cwd, schema) : schema
}

function layerOf(kind: 'environment' | 'flag', name: string, values: JsonObject): Layer {
  return { origin: { kind, name }, values }
}
