import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { checkAgentOptions } from '../config/agent-options.ts'
import { describeValue } from '../settings/issue.ts'
import type { ModelSettings } from '../event/agent.ts'
import { requestedModel, resolveAlias } from '../model/alias.ts'

const joinedTables = ['model_aliases', 'collab'] as const

/**
 * Merges options. Later layers take precedence; null means "not set"; `model_aliases` and `collab` are merged by key.
 */
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
 * Checks options for a script agent that come from a script or an entry of a chain; `of` names their owner.
 * @throws BatonError SCRIPT_FAILED if they are not a table, and for the first invalid option, naming its key
 */
export function scriptAgentOptions(value: Json | undefined, of: string): JsonObject {
  if (value !== undefined && value !== null && !isJsonObject(value) && !isEmptyTable(value)) {
    throw new BatonError('SCRIPT_FAILED', `options of ${of} must be a table, not ${describeValue(value)}`)
  }
  const options = fromLua(tableOf(value ?? undefined))
  const [finding] = checkAgentOptions(options, []).findings
  if (finding === undefined) return options
  throw new BatonError('SCRIPT_FAILED', `options of ${of}: ${finding.message}`, { hint: finding.hint })
}

/** Drops nulls, which mean "not set", and fixes empty tables: an empty Lua table may be a list. */
export function fromLua(options: JsonObject): JsonObject {
  const said = Object.entries(options).filter(([, value]) => value !== null)
  return Object.fromEntries(said.map(([key, value]) => [key, isEmptyTable(value) ? (empty[key] ?? value) : value]))
}

const empty: JsonObject = { model_aliases: {}, fallback_models: [], tools: [], collab: {} }

function isEmptyTable(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** The options as scripts see them: with `resolved_model`, the target of the model's alias. */
export function shownOptions(options: JsonObject): JsonObject {
  const { model } = options
  if (typeof model !== 'string') return options
  return { ...options, resolved_model: resolveAlias(model, textTable(options['model_aliases'])) }
}

/** The model for a request, and the effort written after its alias. */
export function modelOf(options: JsonObject): Pick<ModelSettings, 'model' | 'reasoning_effort'> {
  const { model: name } = options
  if (typeof name !== 'string') return {}
  const { model, reasoningEffort } = requestedModel(name, textTable(options['model_aliases']))
  return { model, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }) }
}

/** The models to ask when `model` fails for good, with aliases resolved. */
export function fallbackModels(options: JsonObject): readonly string[] {
  const { fallback_models: names } = options
  if (!Array.isArray(names)) return []
  const aliases = textTable(options['model_aliases'])
  return names.filter((name) => typeof name === 'string').map((name) => resolveAlias(name, aliases))
}

/** The strings of a table; other values are dropped. */
function textTable(value: JsonObject[string] | undefined): { readonly [key: string]: string } {
  const entries = Object.entries(tableOf(value))
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** How many inputs of an agent are processed at the same time; 1 by default. */
export function concurrencyOf(options: JsonObject): number {
  const value = options['input_concurrency']
  return typeof value === 'number' && value >= 1 ? Math.floor(value) : 1
}
