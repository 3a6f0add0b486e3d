import { BatonError } from '../base/error.ts'
import { resolveAlias, splitEffort } from './alias.ts'
import { builtInProviders, gatewayKeyEnv, gatewayUrlEnv } from './builtin.ts'
import {
  gatewayTarget,
  providerTarget,
  readVariable,
  type ChatTarget,
  type ModelChoice,
  type ModelSources,
} from './choice.ts'

const offlineName = 'offline::extractive'

const offline: ModelChoice = { provider: { kind: 'offline' }, model: offlineName, label: offlineName }

/**
 * Decides which endpoint gets which model name (DESIGN 8, spec/aipack.md 4.2 to 4.4). Pure: keys are only looked at
 * for whether they are set. `offline::extractive` is itself; a gateway takes every other name as it is; then come
 * `provider::name`, and bare names. Without a name the order of DESIGN 8 "No model named anywhere" holds.
 * @throws BatonError CONFIG_INVALID for a name nobody takes, with what is available as the hint
 */
export function selectModel(name: string | undefined, sources: ModelSources): ModelChoice {
  const wanted = name?.trim() ?? ''
  return wanted === '' ? withoutName(sources) : withName(wanted, sources)
}

function withName(wanted: string, sources: ModelSources): ModelChoice {
  const resolved = resolveAlias(wanted, sources.aliases)
  if (resolved === offlineName) return offline
  const gateway = gatewayTarget(sources)
  if (gateway !== undefined && !resolved.startsWith('offline::')) return chat(gateway, resolved)

  const [, prefix, rest] = /^([^:]+)::(.*)$/.exec(resolved) ?? []
  if (prefix !== undefined && rest !== undefined) {
    const target = providerTarget(prefix, sources)
    const model = rest === '' ? defaultModelOf(prefix, sources) : rest
    if (target === undefined || model === undefined) throw unknownModel(wanted, resolved, sources)
    return chat(target, model)
  }
  const target = targetOfBareName(resolved, sources)
  if (target === undefined) throw unknownModel(wanted, resolved, sources)
  return chat(target, resolved)
}

function targetOfBareName(model: string, sources: ModelSources): ChatTarget | undefined {
  const rows = Object.entries(builtInProviders)
  const owner = rows.find(([, { names }]) => names.test(model))
  const taker = owner ?? rows.find(([name, row]) => row.takesOtherNames && isReachable(name, sources))
  return taker === undefined ? undefined : providerTarget(taker[0], sources)
}

/** Whether something outside the built-in table speaks for this provider: its key, its base URL, or the config. */
function isReachable(name: string, { env, providers }: ModelSources): boolean {
  const row = builtInProviders[name]
  const variables = [row?.apiKeyEnv, row?.baseUrlEnv].filter((variable) => variable !== undefined)
  return Object.hasOwn(providers, name) || variables.some((variable) => readVariable(env, variable) !== undefined)
}

function withoutName(sources: ModelSources): ModelChoice {
  const { env, providers } = sources
  const gateway = gatewayTarget(sources)
  if (gateway !== undefined) {
    const model = readVariable(env, gatewayUrlEnv) === undefined ? sources.gateway?.default_model : undefined
    if (model === undefined) throw namelessEndpoint('the gateway')
    return withName(model, sources)
  }
  const keyed = Object.entries(builtInProviders).find(([, row]) => readVariable(env, row.apiKeyEnv) !== undefined)
  if (keyed !== undefined) return withName(`${keyed[0]}::`, { ...sources, aliases: {} })

  const usable = Object.entries(providers).find(([, { default_model: model, api_key_env: key }]) => {
    return model !== undefined && (key === undefined || readVariable(env, key) !== undefined)
  })
  if (usable !== undefined) return withName(`${usable[0]}::`, { ...sources, aliases: {} })

  const bareUrl = Object.values(builtInProviders).find(({ baseUrlEnv }) => {
    return baseUrlEnv !== undefined && readVariable(env, baseUrlEnv) !== undefined
  })
  if (bareUrl?.baseUrlEnv !== undefined) throw namelessEndpoint(`the endpoint of ${bareUrl.baseUrlEnv}`)
  return { ...offline, notice }
}

const notice = `no model is configured: the built-in ${offlineName} answers by quoting the given files; for a real model name one with -m and set OPENAI_API_KEY, or set ${gatewayUrlEnv} (and ${gatewayKeyEnv})`

function defaultModelOf(provider: string, { providers }: ModelSources): string | undefined {
  const configured = Object.hasOwn(providers, provider) ? providers[provider]?.default_model : undefined
  if (configured !== undefined) return configured
  return Object.hasOwn(builtInProviders, provider) ? builtInProviders[provider]?.defaultModel : undefined
}

function chat(provider: ChatTarget, name: string): ModelChoice {
  const named = splitEffort(name)
  return { provider, label: `${provider.name}::${named.model}`, ...named }
}

function namelessEndpoint(what: string): BatonError {
  return new BatonError('CONFIG_INVALID', `no model is named, and ${what} has no default one`, {
    hint: 'Name a model with -m NAME, or with `model` in the front matter of the file.',
  })
}

function unknownModel(wanted: string, resolved: string, sources: ModelSources): BatonError {
  const alias = wanted === resolved ? '' : ` (which stands for "${resolved}")`
  const aliases = Object.keys(sources.aliases).toSorted()
  const providers = new Set([...Object.keys(builtInProviders), ...Object.keys(sources.providers)])
  const available = [
    ...[...providers].toSorted().map((provider) => `${provider}::NAME`),
    offlineName,
    ...(aliases.length === 0 ? [] : [`the aliases ${aliases.join(', ')}`]),
  ]
  return new BatonError('CONFIG_INVALID', `unknown model "${wanted}"${alias}`, {
    hint: `Available: ${available.join('; ')}. A gateway (${gatewayUrlEnv}) takes every name.`,
  })
}
