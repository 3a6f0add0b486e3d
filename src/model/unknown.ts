import { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { builtInProviders, gatewayUrlEnv, providerPrefixes } from './builtin.ts'
import { addressInEnvironment, keyVariableSet, type ModelSources } from './choice.ts'
import { roles, type ModelTable } from './table.ts'

/** For an endpoint without a default model; `role` is the requested alias, if any. */
export function namelessEndpoint(what: string, role?: string): BatonError {
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

/** For `provider::` if it has no default model. */
export function noDefaultModel(provider: string): BatonError {
  const hint = `Name one: ${provider}::NAME, or set default_model in [providers.${provider}] of your config file.`
  return invalid(`${provider} has no default model`, hint)
}

/** Examples; the docs list all of them. */
export const someKeys = 'OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY ...'

/** For `normal`, `high` and `fast`, which never stand for the offline model. */
export function noModelFor(role: string): BatonError {
  const hint = `Set the key of a provider (${someKeys}), start a local server (Ollama, LM Studio, llama-server), set ${gatewayUrlEnv}, or define "${role}" in model_aliases.`
  return invalid(`there is no model for "${role}": no key is set and no local server answers`, hint)
}

/** For no name in an unattended run, where nobody would see that the offline model answers. */
export function noModel(): BatonError {
  const hint = `Name one with -m and set its key (${someKeys}), start a local server, set ${gatewayUrlEnv}, or set model = "offline::extractive" for answers that only quote the given files.`
  return new BatonError('KEY_MISSING', 'no model is configured: no key is set, and no local server answers', { hint })
}

interface UnknownName {
  readonly wanted: string
  readonly resolved: string
}

/** Lists what can be used right now first, so that the line stays readable with many providers. */
export function unknownModel({ wanted, resolved }: UnknownName, sources: ModelSources, table: ModelTable): BatonError {
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
