import { cutSuffix, effortOf, lookUpAlias, splitEffort, withSuffix } from './alias.ts'
import { type BuiltInProvider, builtInProviders, gatewayUrlEnv } from './builtin.ts'
import {
  gatewayTarget,
  isElsewhere,
  isSameHost,
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
  const own = lookUpAlias(wanted, sources.aliases)
  if (own.name === offlineName) return { kind: 'chosen', choice: offlineChoice }

  const gateway = gatewayTarget(sources)
  if (gateway !== undefined && !own.name.startsWith('offline::')) return throughGateway(gateway, own, sources)

  const resolved = own.suffix === undefined ? own.name : withSuffix(own.name, own.suffix)
  const role = roleOf(resolved)
  if (role !== undefined) return withRole(role, sources, table)

  const known = lookUpAlias(own.name, table.aliases)
  const suffix = own.suffix ?? known.suffix
  const place = placeOf(known.name, sources, table)
  if (place === undefined) throw unknownModel({ wanted, resolved: known.name }, sources, table)
  return chosen(place.target, { name: place.model, suffix })
}

/** A name for an endpoint. `suffix`: the effort word behind an alias or a role, which is no part of any name. */
interface AskedName {
  readonly name: string
  readonly suffix?: string | undefined
}

interface NamedRole {
  readonly role: Role
  readonly written: string
  /** An effort behind the alias, for example `low`. */
  readonly suffix: string | undefined
}

function roleOf(name: string): NamedRole | undefined {
  const exact = roles.find((role) => role === name)
  if (exact !== undefined) return { role: exact, written: name, suffix: undefined }
  const { base, suffix } = cutSuffix(name)
  const role = roles.find((other) => other === base)
  return role === undefined ? undefined : { role, written: name, suffix }
}

/** The names of a gateway are its own; only where it has a default model is known what the three aliases mean. */
function throughGateway(gateway: HostTarget, asked: AskedName, sources: ModelSources): Selection {
  const role = roleOf(asked.suffix === undefined ? asked.name : withSuffix(asked.name, asked.suffix))
  const model = role === undefined ? undefined : gatewayDefault(sources)
  return chosen(gateway, model === undefined ? asked : { ...model, suffix: role?.suffix ?? model.suffix })
}

function gatewayDefault({ env, gateway, aliases }: ModelSources): AskedName | undefined {
  // the environment's gateway is another one than that of the config
  const model = readVariable(env, gatewayUrlEnv) === undefined ? gateway?.default_model : undefined
  return model === undefined ? undefined : lookUpAlias(model, aliases)
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
    return chosen(target, { name: models[wanted?.role ?? 'normal'], suffix: wanted?.suffix })
  }
  const nameless = Object.values(builtInProviders).find((row) => row.takesOtherNames && isElsewhere(row, sources.env))
  if (nameless?.baseUrlEnv !== undefined) {
    throw namelessEndpoint(`the endpoint of ${nameless.baseUrlEnv}`, wanted?.written)
  }
  if (wanted === undefined) return { kind: 'undecided' }
  return { kind: 'undecided', role: wanted.written, ...effortFor(wanted.suffix) }
}

/** The provider that answers when none is named: the first built-in one with a key, else the first usable of the config. */
function defaultProvider({ env, providers }: ModelSources): string | undefined {
  const keyed = Object.entries(builtInProviders).find(([, row]) => keyVariableSet(row, env) !== undefined)
  const usable = Object.entries(providers).find(([, { default_model: model, api_key_env: key }]) => {
    return model !== undefined && (key === undefined || readVariable(env, key) !== undefined)
  })
  return (keyed ?? usable)?.[0]
}

function chosen(provider: HostTarget, { name, suffix }: AskedName): Selection {
  const row = rowOf(provider.name)
  const written = splits(provider, name, row) ? splitEffort(name) : { model: name }
  const { model, ...effort } = { ...written, ...effortFor(suffix) }
  const isShort = !model.includes('/') && provider.baseUrl === row?.baseUrl
  const prefix = isShort ? (row?.modelPrefix ?? '') : ''
  const choice = { provider, label: `${provider.name}::${model}`, model: `${prefix}${model}`, ...effort }
  return { kind: 'chosen', choice }
}

/**
 * Whether an effort word at the end of a name is no part of it: where the names of the models are known, which is at the
 * hosts of the built-in providers, and elsewhere for names of their families. Everybody else's names go as written.
 */
function splits({ baseUrl }: HostTarget, name: string, row: BuiltInProvider | undefined): boolean {
  if (row === undefined || row.isLocal === true) return false
  return isSameHost(baseUrl, row.baseUrl) || row.names?.test(name) === true
}

function effortFor(suffix: string | undefined): { readonly reasoningEffort?: string } {
  const reasoningEffort = suffix === undefined ? undefined : effortOf(suffix)
  return reasoningEffort === undefined ? {} : { reasoningEffort }
}
