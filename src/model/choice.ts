import type { WireFormatName } from '../event/message.ts'
import type { MaskOptions } from '../journal/secrets.ts'
import type { serverSecrets } from '../journal/server-secrets.ts'
import { commonQuirks, type Quirks } from './wire/format.ts'
import { readBaseUrlVariable } from './base-url.ts'
import { type BuiltInProvider, builtInProviders, gatewayKeyEnv, gatewayUrlEnv, providerPrefixes } from './builtin.ts'

export type Environment = { readonly [name: string]: string | undefined }

interface ProviderSettings {
  readonly base_url: string
  /** Left out: that of the provider of the same name, else `chat`. */
  readonly format?: WireFormatName | undefined
  /** The environment variable that holds the key; it must be set then. */
  readonly api_key_env?: string | undefined
  readonly default_model?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  /** True when a file says so that came with a folder and was trusted: no key is ever sent there. */
  readonly keyless?: boolean | undefined
}

/**
 * Everything a model is chosen from. `providers` and `gateway` must come from the user's own config: keys of the
 * environment are sent to their base URLs. Those of a trusted file are `keyless`.
 */
export interface ModelSources {
  readonly env: Environment
  readonly providers: { readonly [name: string]: ProviderSettings }
  readonly gateway?: ProviderSettings | undefined
  readonly aliases: { readonly [alias: string]: string }
}

/** A host that answers in one of the wire formats. It holds the name of the key's variable, never the key. */
export interface HostTarget {
  readonly kind: 'host'
  readonly name: string
  readonly format: WireFormatName
  readonly quirks: Quirks
  /** Nobody is paid for its calls: a server for models of one's own. */
  readonly isFree: boolean
  readonly baseUrl: string
  /** The variable or key of the config that says so; left out for addresses that are built in. */
  readonly baseUrlName?: string
  readonly apiKeyEnv: string | undefined
  /** Whether a call makes sense without the key. */
  readonly keyRequired: boolean
  readonly headers: { readonly [name: string]: string }
}

export interface ModelChoice {
  readonly provider: HostTarget | { readonly kind: 'offline' }
  /** The name the endpoint is asked for, without an effort suffix. */
  readonly model: string
  /** For people and events, for example `openai::gpt-6-sol`. */
  readonly label: string
  /** From the suffix of the name; it goes before a `reasoning_effort` of the settings. */
  readonly reasoningEffort?: string
  /** One line for stderr, when the choice needs explaining. */
  readonly notice?: string
}

/** A variable's value without blanks around it; a blank value counts as not set. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

/** Where the gateway is, when there is one. The one of the environment goes before the configured one. */
export function gatewayTarget({ env, gateway }: ModelSources): HostTarget | undefined {
  const url = readVariable(env, gatewayUrlEnv)
  const shared = { kind: 'host', name: 'gateway', quirks: commonQuirks, isFree: false } as const
  // headers, key and format of the configured gateway belong to its address and are not used for another one
  if (url !== undefined) {
    const address = { baseUrl: url, baseUrlName: gatewayUrlEnv }
    return { ...shared, ...address, format: 'chat', apiKeyEnv: gatewayKeyEnv, keyRequired: false, headers: {} }
  }
  if (gateway === undefined) return undefined
  return {
    ...shared,
    format: gateway.format ?? 'chat',
    baseUrl: gateway.base_url,
    baseUrlName: 'gateway.base_url',
    apiKeyEnv: gateway.keyless === true ? undefined : (gateway.api_key_env ?? gatewayKeyEnv),
    keyRequired: gateway.api_key_env !== undefined,
    headers: gateway.headers ?? {},
  }
}

/**
 * Where the provider is that this word before `::` stands for: base URL of the environment, else of the config, else
 * built in. A provider of the config goes before a prefix of the same name.
 */
export function providerTarget(prefix: string, sources: ModelSources): HostTarget | undefined {
  const name = providerNameOf(prefix, sources)
  const row = rowOf(name)
  if (row === undefined) return configuredTarget(name, sources)
  const alias = name === prefix ? undefined : providerPrefixes[prefix]
  const target =
    alias?.baseUrl === undefined
      ? (environmentTarget(name, row, sources) ?? configuredTarget(name, sources) ?? officialTarget(name, row, sources))
      : { ...officialTarget(name, row, sources), baseUrl: alias.baseUrl }
  return alias?.format === undefined ? target : { ...target, format: alias.format }
}

/** The provider a word before `::` stands for, which need not exist. */
export function providerNameOf(prefix: string, { providers }: ModelSources): string {
  if (Object.hasOwn(providers, prefix) || !Object.hasOwn(providerPrefixes, prefix)) return prefix
  return providerPrefixes[prefix]?.provider ?? prefix
}

/** The row of the built-in table with this name. */
export function rowOf(name: string): BuiltInProvider | undefined {
  return Object.hasOwn(builtInProviders, name) ? builtInProviders[name] : undefined
}

/** The address in the provider's variable, when it is set. */
export function addressInEnvironment(
  { baseUrlEnv, baseUrlForm }: BuiltInProvider,
  env: Environment,
): string | undefined {
  const value = baseUrlEnv === undefined ? undefined : readVariable(env, baseUrlEnv)
  return value === undefined ? undefined : readBaseUrlVariable(value, baseUrlForm)
}

/** The first of the provider's key variables that is set. */
export function keyVariableSet({ apiKeyEnvs }: BuiltInProvider, env: Environment): string | undefined {
  return apiKeyEnvs.find((name) => readVariable(env, name) !== undefined)
}

/** Whether the provider's variable leads to another host than its own. */
export function isElsewhere(row: BuiltInProvider, env: Environment): boolean {
  const url = addressInEnvironment(row, env)
  return url !== undefined && !isSameHost(url, row.baseUrl)
}

function officialTarget(name: string, row: BuiltInProvider, { env }: ModelSources): HostTarget {
  const { baseUrl, format, quirks, isLocal = false, apiKeyEnvs } = row
  const apiKeyEnv = keyVariableSet(row, env) ?? apiKeyEnvs[0]
  const shared = { kind: 'host', name, format, quirks, isFree: isLocal, baseUrl, headers: {} } as const
  return { ...shared, apiKeyEnv, keyRequired: apiKeyEnv !== undefined }
}

function environmentTarget(name: string, row: BuiltInProvider, sources: ModelSources): HostTarget | undefined {
  const baseUrl = addressInEnvironment(row, sources.env)
  if (baseUrl === undefined) return undefined
  const written = row.baseUrlEnv === undefined ? {} : { baseUrlName: row.baseUrlEnv }
  const official = { ...officialTarget(name, row, sources), ...written }
  if (isSameHost(baseUrl, row.baseUrl)) return { ...official, baseUrl }
  return { ...official, ...dialectElsewhere(row), baseUrl, keyRequired: false }
}

function configuredTarget(name: string, { env, providers }: ModelSources): HostTarget | undefined {
  const settings = Object.hasOwn(providers, name) ? providers[name] : undefined
  if (settings === undefined) return undefined
  const row = rowOf(name)
  const { base_url: baseUrl, api_key_env: ownKey, headers = {}, keyless = false } = settings
  const owner = Object.values(builtInProviders).find((other) => isSameHost(baseUrl, other.baseUrl))
  const dialect = row === undefined ? { format: 'chat' as const, quirks: commonQuirks } : dialectElsewhere(row)
  return {
    kind: 'host',
    name,
    format: settings.format ?? (owner === row && row !== undefined ? row.format : dialect.format),
    quirks: owner?.quirks ?? dialect.quirks,
    isFree: row?.isLocal === true && ownKey === undefined,
    baseUrl,
    baseUrlName: `providers.${name}.base_url`,
    apiKeyEnv: keyless
      ? undefined
      : (ownKey ?? (row === undefined ? undefined : (keyVariableSet(row, env) ?? row.apiKeyEnvs[0]))),
    keyRequired: ownKey !== undefined,
    headers,
  }
}

/** Servers that speak in the name of a provider know its format; OpenAI's is spoken by many that are not like it. */
function dialectElsewhere({ format, formatElsewhere, quirks }: BuiltInProvider): Pick<HostTarget, 'format' | 'quirks'> {
  return formatElsewhere === undefined ? { format, quirks } : { format: formatElsewhere, quirks: commonQuirks }
}

/** Whether two base URLs lead to the same host and port. */
export function isSameHost(left: string, right: string): boolean {
  return URL.canParse(left) && URL.canParse(right) && new URL(left).host === new URL(right).host
}

type Host = Pick<ProviderSettings, 'base_url' | 'api_key_env'>

interface SecretSettings {
  readonly secrets: readonly string[]
  readonly providers: { readonly [name: string]: Host }
  readonly gateway?: Host | undefined
  readonly mcp_servers?: Parameters<typeof serverSecrets>[0] | undefined
}

/**
 * What is to be masked besides the well-known key variables: what the user named, the keys of the hosts, the secrets
 * in the queries of their addresses, wherever those come from, and those of MCP servers.
 */
export async function secretsOf(
  { secrets, providers, gateway, mcp_servers: servers }: SecretSettings,
  env: Environment,
): Promise<MaskOptions> {
  const hosts = [...Object.values(providers), ...(gateway === undefined ? [] : [gateway])]
  const variables = [gatewayUrlEnv, ...Object.values(builtInProviders).flatMap(({ baseUrlEnv = [] }) => baseUrlEnv)]
  const addresses: readonly (readonly [string, string])[] = [
    ...variables.map((name) => [name, readVariable(env, name) ?? ''] as const),
    ...Object.entries(providers).map(([name, { base_url: url }]) => [`providers.${name}.base_url`, url] as const),
    ['gateway.base_url', gateway?.base_url ?? ''],
  ]
  const started = await secretsOfServers(servers, env)
  return {
    names: secrets,
    keys: [...hosts.flatMap(({ api_key_env: name }) => name ?? []), ...started.keys],
    values: {
      ...Object.fromEntries(addresses.flatMap(([name, url]) => querySecrets(name, url))),
      ...started.values,
    },
  }
}

/** Runs without servers do not load what finds their secrets. */
async function secretsOfServers(
  servers: SecretSettings['mcp_servers'],
  env: Environment,
): Promise<ReturnType<typeof serverSecrets>> {
  if (servers === undefined) return { keys: [], values: {} }
  return (await import('../journal/server-secrets.ts')).serverSecrets(servers, env)
}

/** Query parameters that every address of a kind has: their values are ordinary text. */
const publicParameter = /version|^(?:region|location|deployment|model|project|provider)$/i

/** Decoded, and as it is written where that differs. */
function querySecrets(name: string, url: string): readonly (readonly [string, string])[] {
  if (!URL.canParse(url)) return []
  const entries = [...new URL(url).searchParams].filter(([parameter]) => !publicParameter.test(parameter))
  return entries.flatMap(([parameter, value]) => {
    const encoded = encodeURIComponent(value)
    const plain = [`${name}?${parameter}`, value] as const
    return encoded === value ? [plain] : [plain, [`${name}?${parameter}%`, encoded] as const]
  })
}
