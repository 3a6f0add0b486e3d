import { resolveAlias, splitEffort, cutSuffix } from './alias.ts'
import { builtInProviders, gatewayUrlEnv } from './builtin.ts'
import {
  gatewayTarget,
  isElsewhere,
  keyVariableSet,
  providerTarget,
  readVariable,
  rowOf,
  type HostTarget,
  type ModelChoice,
  type ModelSources,
} from './choice.ts'
import { modelsOf, placeOf } from './place.ts'
import { roles, type ModelTable, type Role } from './table.ts'
import { namelessEndpoint, unknownModel } from './unknown.ts'

export const offlineName = 'offline::extractive'
export const offlineChoice: ModelChoice = { provider: { kind: 'offline' }, model: offlineName, label: offlineName }

/** What a name leads to. `undecided`: nobody named a model and no key decides; a local server may be running. */
export type Selection =
  | { readonly kind: 'chosen'; readonly choice: ModelChoice }
  | {
      readonly kind: 'undecided'
      /** The alias that was asked for, as it was written; left out when no model is named anywhere. */
      readonly role?: string
      /** From the suffix of that alias. */
      readonly reasoningEffort?: string
    }

/**
 * Decides which endpoint gets which model name (DESIGN 8, spec/aipack.md 4.2 to 4.4). Pure: keys are only looked at
 * for whether they are set. `offline::extractive` is itself; a gateway takes every other name as it is; then come the
 * aliases of the table, `provider::name`, `provider/name`, and bare names. Aliases of the user go before all of it.
 * Without a name the order of DESIGN 8 "No model named anywhere" holds, and `normal`, `high`, `fast` follow it.
 * @throws BatonError CONFIG_INVALID for a name nobody takes, with what is available as the hint
 */
export function selectModel(name: string | undefined, sources: ModelSources, table: ModelTable): Selection {
  const wanted = name?.trim() ?? ''
  if (wanted === '') return withoutName(sources, table)
  const resolved = resolveAlias(wanted, sources.aliases)
  if (resolved === offlineName) return { kind: 'chosen', choice: offlineChoice }

  const gateway = gatewayTarget(sources)
  if (gateway !== undefined && !resolved.startsWith('offline::')) return throughGateway(gateway, resolved, sources)

  const role = roleOf(resolved)
  if (role !== undefined) return withRole(role, sources, table)

  const known = resolveAlias(resolved, table.aliases)
  const place = placeOf(known, sources, table)
  if (place === undefined) throw unknownModel({ wanted, resolved: known }, sources, table)
  return chosen(place.target, place.model)
}

interface NamedRole {
  readonly role: Role
  readonly written: string
  /** An effort behind the alias, for example `-low`; empty without one. */
  readonly suffix: string
}

function roleOf(name: string): NamedRole | undefined {
  const exact = roles.find((role) => role === name)
  if (exact !== undefined) return { role: exact, written: name, suffix: '' }
  const { base, suffix } = cutSuffix(name)
  const role = roles.find((other) => other === base)
  return role === undefined ? undefined : { role, written: name, suffix: `-${suffix}` }
}

/** The names of a gateway are its own; only where it has a default model is known what the three aliases mean. */
function throughGateway(gateway: HostTarget, name: string, sources: ModelSources): Selection {
  const role = roleOf(name)
  const model = role === undefined ? undefined : gatewayDefault(sources)
  return chosen(gateway, model === undefined ? name : `${model}${role?.suffix ?? ''}`)
}

function gatewayDefault({ env, gateway, aliases }: ModelSources): string | undefined {
  // the environment's gateway is another one than that of the config
  const model = readVariable(env, gatewayUrlEnv) === undefined ? gateway?.default_model : undefined
  return model === undefined ? undefined : resolveAlias(model, aliases)
}

function withoutName(sources: ModelSources, table: ModelTable): Selection {
  const gateway = gatewayTarget(sources)
  if (gateway === undefined) return withRole(undefined, sources, table)
  const model = gatewayDefault(sources)
  if (model === undefined) throw namelessEndpoint('the gateway')
  return chosen(gateway, model)
}

function withRole(wanted: NamedRole | undefined, sources: ModelSources, table: ModelTable): Selection {
  const provider = defaultProvider(sources)
  const models = provider === undefined ? undefined : modelsOf(provider, sources, table)
  const target = provider === undefined ? undefined : providerTarget(provider, sources)
  if (models !== undefined && target !== undefined) {
    return chosen(target, `${models[wanted?.role ?? 'normal']}${wanted?.suffix ?? ''}`)
  }
  const nameless = Object.values(builtInProviders).find((row) => row.takesOtherNames && isElsewhere(row, sources.env))
  if (nameless?.baseUrlEnv !== undefined) {
    throw namelessEndpoint(`the endpoint of ${nameless.baseUrlEnv}`, wanted?.written)
  }
  if (wanted === undefined) return { kind: 'undecided' }
  const { model: _, ...effort } = splitEffort(`model${wanted.suffix}`)
  return { kind: 'undecided', role: wanted.written, ...effort }
}

/** The provider that answers when none is named: the first built-in one with a key, else the first usable of the config. */
function defaultProvider({ env, providers }: ModelSources): string | undefined {
  const keyed = Object.entries(builtInProviders).find(([, row]) => keyVariableSet(row, env) !== undefined)
  const usable = Object.entries(providers).find(([, { default_model: model, api_key_env: key }]) => {
    return model !== undefined && (key === undefined || readVariable(env, key) !== undefined)
  })
  return (keyed ?? usable)?.[0]
}

function chosen(provider: HostTarget, name: string): Selection {
  const { model, ...effort } = splitEffort(name)
  const row = rowOf(provider.name)
  const isShort = !model.includes('/') && provider.baseUrl === row?.baseUrl
  const prefix = isShort ? (row?.modelPrefix ?? '') : ''
  const choice = { provider, label: `${provider.name}::${model}`, model: `${prefix}${model}`, ...effort }
  return { kind: 'chosen', choice }
}
