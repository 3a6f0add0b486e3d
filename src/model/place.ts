import { builtInProviders } from './builtin.ts'
import {
  addressInEnvironment,
  isElsewhere,
  keyVariableSet,
  providerNameOf,
  providerTarget,
  rowOf,
  type HostTarget,
  type ModelSources,
} from './choice.ts'
import type { ModelTable, RoleModels } from './table.ts'
import { noDefaultModel } from './unknown.ts'

/** A host and the name it is asked for. */
export interface Place {
  readonly target: HostTarget
  /** With an effort suffix, if one was written. */
  readonly model: string
}

/**
 * Who answers for a name that is no alias: `provider::name`, `provider/name`, bare names by whose they are, and ids of
 * the form `vendor/model` at OpenRouter. Undefined when nobody takes it.
 * @throws BatonError CONFIG_INVALID for `provider::` when it has no default model
 */
export function placeOf(name: string, sources: ModelSources, table: ModelTable): Place | undefined {
  const [, prefix, rest] = /^([^:]+)::(.*)$/.exec(name) ?? []
  if (prefix === undefined || rest === undefined) {
    return placeOfPath(name, sources) ?? placeOfBareName(name, sources) ?? placeOfVendorName(name, sources)
  }
  const target = providerTarget(prefix, sources)
  if (target === undefined) return undefined
  if (rest !== '') return { target, model: rest }
  const models = modelsOf(providerNameOf(prefix, sources), sources, table)
  if (models === undefined) throw noDefaultModel(prefix)
  return { target, model: models.normal }
}

/** What `normal`, `high` and `fast` mean at a provider. A default model of the config stands for all of them. */
export function modelsOf(provider: string, { providers }: ModelSources, table: ModelTable): RoleModels | undefined {
  const model = Object.hasOwn(providers, provider) ? providers[provider]?.default_model : undefined
  if (model !== undefined) return { normal: model, high: model, fast: model }
  return Object.hasOwn(table.providers, provider) ? table.providers[provider] : undefined
}

/**
 * `provider/model` (spec/conventions.md 4.1). Ids of models have slashes too: an endpoint in OpenAI's place gets them
 * whole, unless the provider has a key of its own; and `openai/...` is only OpenAI when that is one of its names and
 * OpenRouter is not the only one with a key.
 */
function placeOfPath(name: string, sources: ModelSources): Place | undefined {
  const [, prefix = '', rest = ''] = /^([^/:]+)\/(.+)$/.exec(name) ?? []
  const target = prefix === '' ? undefined : providerTarget(prefix, sources)
  if (target === undefined) return undefined
  const own = ownEndpoint(sources)
  const isKnown = isReachable(target.name, sources)
  if (own !== undefined && (own.name === target.name || !isKnown)) return undefined
  const row = rowOf(target.name)
  const isForeign = row?.isVendor === true && row.names?.test(rest) !== true
  const isElsewhereToo = row?.isVendor === true && !isKnown && isReachable('openrouter', sources)
  return isForeign || isElsewhereToo ? undefined : { target, model: rest }
}

function placeOfBareName(model: string, sources: ModelSources): Place | undefined {
  if (isOneColonShort(model, sources)) return undefined
  const rows = Object.entries(builtInProviders)
  const owner = rows.find(([, { names }]) => names?.test(model))?.[0]
  if (owner === undefined || !isReachable(owner, sources)) {
    const own = ownEndpoint(sources)
    if (own !== undefined) return { target: own, model }
  }
  const taker = rows.find(
    ([name, row]) => row.takesOtherNames && isReachable(name, sources) && !model.includes('/'),
  )?.[0]
  const name = owner ?? taker
  const target = name === undefined ? undefined : providerTarget(name, sources)
  return target === undefined ? undefined : { target, model }
}

/** `openai:gpt-5` as other tools write it, which must not become a model of Ollama with the tag `gpt-5`. */
function isOneColonShort(name: string, sources: ModelSources): boolean {
  const [, prefix = '', rest = ''] = /^([^/:]+):([^:]*)$/.exec(name) ?? []
  if (prefix === '' || providerTarget(prefix, sources) === undefined) return false
  const names = rowOf(providerNameOf(prefix, sources))?.names
  return names === undefined || names.test(rest)
}

function placeOfVendorName(name: string, sources: ModelSources): Place | undefined {
  if (!/^[^/:]+\/./.test(name) || !isReachable('openrouter', sources)) return undefined
  const target = providerTarget('openrouter', sources)
  return target === undefined ? undefined : { target, model: name }
}

/** An endpoint of the user's own that was put in the place of a provider and serves names of any vendor. */
function ownEndpoint(sources: ModelSources): HostTarget | undefined {
  const found = Object.entries(builtInProviders).find(([, row]) => row.takesOtherNames && isElsewhere(row, sources.env))
  return found === undefined ? undefined : providerTarget(found[0], sources)
}

/** Whether something outside the built-in table speaks for this provider: its key, its base URL, or the config. */
function isReachable(name: string, { env, providers }: ModelSources): boolean {
  if (Object.hasOwn(providers, name)) return true
  const row = rowOf(name)
  return row !== undefined && (keyVariableSet(row, env) ?? addressInEnvironment(row, env)) !== undefined
}
