import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { isModelName } from '../model-names.ts'
import { packageRoot } from '../package-root.ts'
import type { Layer, SourcedValue } from './layers.ts'
import { effortWord } from './weaker-settings.ts'
import { defaultLayer } from './settings.ts'

/** The meaning of `normal`, `high` and `fast` depends on which key is set. */
const byProvider = 'the model of the provider'

/**
 * The existing model names that aliases among `values` (of a folder) would take over, except the user's own aliases
 * (`own`): they are protected like aliases of the user. These are the built-in aliases, and the names of models in
 * providers, the installed table or the user's config, which mean themselves. The table is only read if the folder
 * defines aliases.
 */
export async function limitedModelNames(
  values: JsonObject,
  own: readonly SourcedValue[],
): Promise<readonly SourcedValue[]> {
  const { model_aliases: aliases } = values
  if (!isJsonObject(aliases)) return []
  const file = join(packageRoot(), 'agents/models.toml')
  const text = readFileSync(file, 'utf8')
  const { data } = await parseToml({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
  const { aliases: namedBefore = {}, providers = {}, prices = {} } = data
  const named = isJsonObject(namedBefore) ? namedBefore : {}
  const priced = isJsonObject(prices) ? Object.keys(prices) : []
  const models = new Map<string, Layer>([
    ...textsIn([named, providers, priced]).map((name) => [name, defaultLayer] as const),
    ...own.flatMap((set) => textsIn(modelsOf(set)).map((name) => [name, set.layer] as const)),
  ])
  const builtIn = new Map<string, Json>([
    ...Object.entries(named),
    ...['normal', 'high', 'fast'].map((role) => [role, byProvider] as const),
  ])
  const isOwn = (name: string): boolean => own.some(({ path }) => path[0] === 'model_aliases' && path[1] === name)
  const taken = new Set(Object.keys(aliases).flatMap((name) => [name, name.replace(effortWord, '')]))
  return [...taken]
    .filter((name) => !isOwn(name))
    .flatMap((name) => {
      const path = ['model_aliases', name]
      const alias = builtIn.get(name)
      if (alias !== undefined) return [{ path, value: alias, layer: defaultLayer }]
      const layer = models.get(name) ?? (isModelName(name) ? defaultLayer : undefined)
      return layer === undefined ? [] : [{ path, value: name, layer }]
    })
}

/** The part of a value of the user's config whose strings are names of models. */
function modelsOf({ path: [key], value }: SourcedValue): Json {
  if (key === 'providers' || key === 'gateway') return isJsonObject(value) ? (value['default_model'] ?? null) : null
  return ['model', 'fallback_models', 'model_aliases'].includes(String(key)) ? value : null
}

/** All names of models in a value: its strings, with and without the provider prefix. */
function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value, value.replace(/^[^:]+::/, '')]
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}
