import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { checkAgentOptions } from '../config/agent-options.ts'
import { describeValue } from '../config/issue.ts'
import type { ModelSettings } from '../event/agent.ts'
import { askedModel, resolveAlias } from '../model/alias.ts'

const joinedTables = ['model_aliases', 'collab'] as const

/** Later wins, except null, which says nothing; `model_aliases` and `collab` join key by key. */
export function mergeOptions(...layers: readonly (JsonObject | undefined)[]): JsonObject {
  let merged: JsonObject = {}
  for (const layer of layers) {
    if (layer === undefined) continue
    const given = Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== null))
    const joined = joinedTables.flatMap((key) => {
      const table = { ...tableOf(merged[key]), ...tableOf(given[key]) }
      return Object.keys(table).length > 0 ? [[key, table] as const] : []
    })
    merged = { ...merged, ...given, ...Object.fromEntries(joined) }
  }
  return merged
}

function tableOf(value: JsonObject[string] | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/**
 * Options for a script agent, as a script or an entry of a chain gives them; `of` says whose they are.
 * @throws BatonError SCRIPT_FAILED when they are no table, and for the first that is wrong, naming its key
 */
export function givenOptions(value: Json | undefined, of: string): JsonObject {
  if (value !== undefined && value !== null && !isJsonObject(value) && !isEmptyTable(value)) {
    throw new BatonError('SCRIPT_FAILED', `options of ${of} must be a table, not ${describeValue(value)}`)
  }
  const options = fromLua(tableOf(value ?? undefined))
  const [finding] = checkAgentOptions(options, []).findings
  if (finding === undefined) return options
  throw new BatonError('SCRIPT_FAILED', `options of ${of}: ${finding.message}`, { hint: finding.hint })
}

/** Without those that are null, which say nothing; an empty Lua table cannot say whether it is a list. */
export function fromLua(options: JsonObject): JsonObject {
  const said = Object.entries(options).filter(([, value]) => value !== null)
  return Object.fromEntries(said.map(([key, value]) => [key, isEmptyTable(value) ? (empty[key] ?? value) : value]))
}

const empty: JsonObject = { model_aliases: {}, fallback_models: [], collab: {} }

function isEmptyTable(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Options as scripts see them: with `resolved_model`, the name that the model's alias stands for. */
export function shownOptions(options: JsonObject): JsonObject {
  const { model } = options
  if (typeof model !== 'string') return options
  return { ...options, resolved_model: resolveAlias(model, textTable(options['model_aliases'])) }
}

/** The model that a request names, and the effort that is written behind the name of its alias. */
export function modelOf(options: JsonObject): Pick<ModelSettings, 'model' | 'reasoning_effort'> {
  const { model: name } = options
  if (typeof name !== 'string') return {}
  const { model, reasoningEffort } = askedModel(name, textTable(options['model_aliases']))
  return { model, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }) }
}

/** The models that are asked when `model` fails for good, with the names their aliases stand for. */
export function fallbackModels(options: JsonObject): readonly string[] {
  const { fallback_models: names } = options
  if (!Array.isArray(names)) return []
  const aliases = textTable(options['model_aliases'])
  return names.filter((name) => typeof name === 'string').map((name) => resolveAlias(name, aliases))
}

/** The texts of a table; other values are left out. */
function textTable(value: JsonObject[string] | undefined): { readonly [key: string]: string } {
  const entries = Object.entries(tableOf(value))
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** How many inputs of an agent may be worked on at once; 1 when its options do not say. */
export function concurrencyOf(options: JsonObject): number {
  const value = options['input_concurrency']
  return typeof value === 'number' && value >= 1 ? Math.floor(value) : 1
}
