import { defined } from '../base/json.ts'
import { cutSuffix, effortOf, lookUpAlias, splitEffort, withSuffix } from './alias.ts'
import { type BuiltInProvider, builtInProviders, gatewayKeyEnv, gatewayUrlEnv, providerPrefixes } from './builtin.ts'
import {
  addressInEnvironment,
  gatewayTarget,
  type HostTarget,
  isElsewhere,
  isSameHost,
  keyVariableSet,
  type ModelChoice,
  type ModelSources,
  providerNameOf,
  providerTarget,
  readVariable,
  rowOf,
} from './choice.ts'
import type { HostModel } from './local.ts'
import { type ModelTable, type Role, type RoleModels, roles } from './table.ts'
import { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'

export const offlineName = 'offline::extractive'
const offlineChoice: ModelChoice = { provider: { kind: 'offline' }, model: offlineName, label: offlineName }

/** The result of resolving a name. `undecided`: no model is named and no key decides; a local server may be running. */
type Selection =
  | { readonly kind: 'chosen'; readonly choice: ModelChoice }
  | {
      readonly kind: 'undecided'
      /** The requested alias, as written; omitted if no model is named anywhere. */
      readonly role?: string
      /** From the suffix of that alias. */
      readonly reasoningEffort?: string
    }

/**
 * Decides which endpoint gets which model name. Pure: of keys, only whether they are set matters. The order: aliases of
 * the user; `offline::extractive`; a gateway, which takes every other name verbatim; aliases of the table;
 * `provider::name`; `provider/name`; bare names. Without a name, the first of these that exists is used: a gateway, a
 * provider whose key is set, a provider in the config, a local server, the offline model. `normal`, `high` and `fast`
 * use the same provider, but never the offline model.
 * @throws BatonError CONFIG_INVALID for an unknown name; the hint lists what is available
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

/** A name for an endpoint. `suffix`: the effort suffix of an alias or role, which is not part of the name. */
interface AskedName {
  readonly name: string
  readonly suffix?: string | undefined
}

interface NamedRole {
  readonly role: Role
  readonly written: string
  /** The effort suffix of the alias, for example `low`. */
  readonly suffix: string | undefined
}

function roleOf(name: string): NamedRole | undefined {
  const exact = roles.find((role) => role === name)
  if (exact !== undefined) return { role: exact, written: name, suffix: undefined }
  const { base, suffix } = cutSuffix(name)
  const role = roles.find((other) => other === base)
  return role === undefined ? undefined : { role, written: name, suffix }
}

/** Names are sent to a gateway verbatim; the three aliases are resolved only if it has a default model. */
function throughGateway(gateway: HostTarget, asked: AskedName, sources: ModelSources): Selection {
  const role = roleOf(asked.suffix === undefined ? asked.name : withSuffix(asked.name, asked.suffix))
  const model = role === undefined ? undefined : gatewayDefault(sources)
  return chosen(gateway, model === undefined ? asked : { ...model, suffix: role?.suffix ?? model.suffix })
}

function gatewayDefault({ gateway, aliases }: ModelSources): AskedName | undefined {
  const model = gateway?.default_model
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

/**
 * The provider used if none is named: the first built-in one with a key, otherwise the first usable one in the config.
 */
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
 * Whether an effort suffix is split off a name. Only where model names are known: at the hosts of the built-in
 * providers, and elsewhere for names of their model families. All other names are sent verbatim.
 */
function splits({ baseUrl }: HostTarget, name: string, row: BuiltInProvider | undefined): boolean {
  if (row === undefined || row.isLocal === true) return false
  return isSameHost(baseUrl, row.baseUrl) || row.names?.test(name) === true
}

function effortFor(suffix: string | undefined): { readonly reasoningEffort?: string } {
  const reasoningEffort = suffix === undefined ? undefined : effortOf(suffix)
  return reasoningEffort === undefined ? {} : { reasoningEffort }
}

interface Place {
  readonly target: HostTarget
  /** Including an effort suffix, if given. */
  readonly model: string
}

/**
 * The endpoint for a name that is not an alias: `provider::name`, `provider/name`, bare names by their owner, and ids
 * of the form `vendor/model` at OpenRouter. Undefined if there is none.
 * @throws BatonError CONFIG_INVALID for `provider::` if it has no default model
 */
function placeOf(name: string, sources: ModelSources, table: ModelTable): Place | undefined {
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

/** The models of `normal`, `high` and `fast` at a provider. A default model in the config replaces all three. */
function modelsOf(provider: string, { providers }: ModelSources, table: ModelTable): RoleModels | undefined {
  const model = Object.hasOwn(providers, provider) ? providers[provider]?.default_model : undefined
  if (model !== undefined) return { normal: model, high: model, fast: model }
  return Object.hasOwn(table.providers, provider) ? table.providers[provider] : undefined
}

/**
 * Resolves `provider/model`. Model ids may contain slashes too: an endpoint that replaces OpenAI gets them whole,
 * unless the provider has its own key; and `openai/...` means OpenAI only if the rest is one of its model names and
 * OpenRouter is not the only one of the two with a key.
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

/** `openai:gpt-5`, the notation of other tools, which must not become an Ollama model with the tag `gpt-5`. */
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

/** The user's own endpoint that replaces a provider and serves models of any vendor. */
function ownEndpoint(sources: ModelSources): HostTarget | undefined {
  const found = Object.entries(builtInProviders).find(([, row]) => row.takesOtherNames && isElsewhere(row, sources.env))
  return found === undefined ? undefined : providerTarget(found[0], sources)
}

/** Whether this provider is set up: by its key, its base URL, or the config. */
function isReachable(name: string, { env, providers }: ModelSources): boolean {
  if (Object.hasOwn(providers, name)) return true
  const row = rowOf(name)
  return row !== undefined && (keyVariableSet(row, env) ?? addressInEnvironment(row, env)) !== undefined
}

interface ChoosingOptions {
  readonly loadTable: () => Promise<ModelTable>
  /** Called only if neither a name nor a key decides. */
  readonly findLocal: () => Promise<HostModel | undefined>
  /** Whether the user sees the output. If so and there is no other model, the offline one is used, with a notice. */
  readonly isAttended: boolean
}

/**
 * Like `selectModel`, and settles what that leaves undecided: with a local server if one answers; otherwise, without a
 * name, with the offline model and a notice if the run is attended. For `normal`, `high` and `fast` it is an error.
 * @throws BatonError CONFIG_INVALID like `selectModel`, or if there is no model for one of the three aliases;
 *   KEY_MISSING if there is no model and the run is not attended
 */
export async function chooseModelFor(
  name: string | undefined,
  sources: ModelSources,
  { loadTable, findLocal, isAttended }: ChoosingOptions,
): Promise<ModelChoice> {
  if (name?.trim() === offlineName) return offlineChoice
  const selection = selectModel(name, sources, await loadTable())
  if (selection.kind === 'chosen') return selection.choice
  const local = await findLocal()
  const { role, reasoningEffort } = selection
  if (local === undefined) {
    if (role !== undefined) throw noModelFor(role)
    if (!isAttended) throw noModel()
    return { ...offlineChoice, notice: offlineNotice }
  }
  // its names are used verbatim: an effort suffix is part of them
  const { provider, model } = local
  const label = `${provider.name}::${model}`
  if (role !== undefined) return { provider, model, label, ...defined({ reasoningEffort }) }
  const notice = `no model is configured: using ${label} on ${new URL(provider.baseUrl).host}`
  return { provider, model, label, notice }
}

/** Examples; the docs list all of them. */
const someKeys = 'OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY ...'

const offlineNotice = `no model is configured: the built-in ${offlineName} answers by quoting the given files; for a real model, name one with -m and set its key (${someKeys}), start a local server (Ollama, LM Studio, llama-server), or set ${gatewayUrlEnv} (and ${gatewayKeyEnv})`

/** For an endpoint without a default model; `role` is the requested alias, if any. */
function namelessEndpoint(what: string, role?: string): BatonError {
  if (role === undefined) {
    const hint = 'Name a model with -m NAME, or with `model` in the front matter of the file.'
    return invalid(`no model is named, and ${what} has no default model`, hint)
  }
  const hint = `Define "${role}" in model_aliases of your config file, or name a model.`
  return invalid(`there is no model for "${role}" at ${what}`, hint)
}

function invalid(message: string, hint: string): BatonError {
  return new BatonError('CONFIG_INVALID', message, { hint })
}

function noDefaultModel(provider: string): BatonError {
  const hint = `Name one: ${provider}::NAME, or set default_model in [providers.${provider}] of your config file.`
  return invalid(`${provider} has no default model`, hint)
}

/** For `normal`, `high` and `fast`, which never stand for the offline model. */
function noModelFor(role: string): BatonError {
  const hint = `Set the key of a provider (${someKeys}), start a local server (Ollama, LM Studio, llama-server), set ${gatewayUrlEnv}, or define "${role}" in model_aliases.`
  return invalid(`there is no model for "${role}": no key is set and no local server answers`, hint)
}

/** For no name in an unattended run, where nobody would see that the offline model answers. */
function noModel(): BatonError {
  const hint = `Name one with -m and set its key (${someKeys}), start a local server, set ${gatewayUrlEnv}, or set model = "offline::extractive" for answers that only quote the given files.`
  return new BatonError('KEY_MISSING', 'no model is configured: no key is set, and no local server answers', { hint })
}

interface UnknownName {
  readonly wanted: string
  readonly resolved: string
}

/** Lists what can be used right now first, so that the line stays readable with many providers. */
function unknownModel({ wanted, resolved }: UnknownName, sources: ModelSources, table: ModelTable): BatonError {
  const alias = wanted === resolved ? '' : ` (alias for "${resolved}")`
  const { usable, others } = providersByKey(sources)
  const aliases = [...new Set([...Object.keys(sources.aliases).toSorted(), ...roles])]
  const available = [
    ...usable.map((name) => `${name}::NAME`),
    'offline::extractive',
    `the aliases ${aliases.join(', ')}`,
  ]
  const hints = [
    ...suggestion(resolved, sources, table),
    `Available: ${available.join('; ')}.`,
    `If their key is set: ${others.join(', ')}. A gateway (${gatewayUrlEnv}) accepts any name.`,
  ]
  return invalid(`unknown model "${wanted}"${alias}`, hints.join(' '))
}

/** Providers that can be used now, those in the config first, and those whose key is not set. */
function providersByKey({ env, providers }: ModelSources): { readonly usable: string[]; readonly others: string[] } {
  const configured = Object.keys(providers).toSorted()
  const rows = Object.entries(builtInProviders).filter(([name]) => !configured.includes(name))
  const isUsable = ([, row]: (typeof rows)[number]): boolean => {
    return row.isLocal === true || (keyVariableSet(row, env) ?? addressInEnvironment(row, env)) !== undefined
  }
  const names = (entries: typeof rows): string[] => entries.map(([name]) => name)
  return {
    usable: [...configured, ...names(rows.filter(isUsable))],
    others: names(rows.filter((entry) => !isUsable(entry))),
  }
}

function suggestion(name: string, { providers, aliases }: ModelSources, table: ModelTable): readonly string[] {
  const prefixes = [...Object.keys(builtInProviders), ...Object.keys(providerPrefixes), ...Object.keys(providers)]
  if (prefixes.includes(name)) return [`Did you mean "${name}::", its default model?`]
  const [, prefix, rest] = /^([^:/]+)(?:::?|\/)(.*)$/.exec(name) ?? []
  const near =
    prefix === undefined
      ? nearest(name, [...Object.keys(aliases), ...roles, ...Object.keys(table.aliases)])
      : nearest(prefix, prefixes)
  if (near === undefined) return []
  return [`Did you mean "${prefix === undefined ? near : `${near}::${rest ?? ''}`}"?`]
}
