import { defined } from '../base/json.ts'
import type { WireFormatName } from '../event/message.ts'
import type { MaskOptions } from '../journal/secrets.ts'
import type { serverSecrets } from '../journal/server-secrets.ts'
import type { Account } from './send.ts'
import { commonQuirks, type Quirks } from './wire/format.ts'
import { readBaseUrlVariable } from './base-url.ts'
import { type BuiltInProvider, builtInProviders, gatewayKeyEnv, gatewayUrlEnv, providerPrefixes } from './builtin.ts'

export type Environment = { readonly [name: string]: string | undefined }

interface ProviderSettings {
  readonly base_url: string
  /** Default: the format of the built-in provider with the same name, otherwise `chat`. */
  readonly format?: WireFormatName | undefined
  /** The environment variable with the key. If given, it must be set. */
  readonly api_key_env?: string | undefined
  /** A command that prints the key, instead of a variable. */
  readonly api_key_command?: string | undefined
  /** It has the batch API of its format. */
  readonly batch?: boolean | undefined
  readonly default_model?: string | undefined
  /** The version of the API of Azure OpenAI: only its hosts have one. */
  readonly api_version?: string | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly stream_idle_timeout_ms?: number | undefined
  /** True for settings from a trusted file of a folder: keys are never sent to that host. */
  readonly keyless?: boolean | undefined
}

/**
 * Everything that model selection depends on. `providers` and `gateway` must come from the user's own config, because
 * keys from the environment are sent to their base URLs. Those from a trusted file are `keyless`.
 */
export interface ModelSources {
  readonly env: Environment
  readonly providers: { readonly [name: string]: ProviderSettings }
  readonly gateway?: ProviderSettings | undefined
  readonly aliases: { readonly [alias: string]: string }
}

export interface KeyCommand {
  /** A line for `/bin/sh`. */
  readonly line: string
  /** The key that sets it, for example `providers.lab.api_key_command`. */
  readonly from: string
}

/** A host that uses one of the wire formats. Contains the name of the key's variable, never the key. */
export interface HostTarget {
  readonly kind: 'host'
  readonly name: string
  readonly format: WireFormatName
  readonly quirks: Quirks
  /** Its calls are free: a self-hosted server. */
  readonly isFree: boolean
  readonly baseUrl: string
  /** The variable or config key it comes from; omitted for built-in addresses. */
  readonly baseUrlName?: string
  readonly apiKeyEnv: string | undefined
  /** The command that prints the key; it takes the place of the variable. */
  readonly keyCommand?: KeyCommand
  /** Whether calls need the key. */
  readonly keyRequired: boolean
  /** For hosts with the formats of OpenAI. */
  readonly account?: Account
  readonly headers: { readonly [name: string]: string }
  /** It has the batch API of its format. */
  readonly hasBatches?: boolean
  /** The key that says whether it has, for an endpoint of the user's own. */
  readonly batchKey?: string
  /** Its own limit of silence within an answer, and the key that sets it. */
  readonly streamIdle?: { readonly ms: number; readonly key: string }
}

export interface ModelChoice {
  readonly provider: HostTarget | { readonly kind: 'offline' }
  /** The model name sent to the endpoint, without an effort suffix. */
  readonly model: string
  /** For messages and events, for example `openai::gpt-6-sol`. */
  readonly label: string
  /** From the suffix of the name; takes precedence over `reasoning_effort` in the settings. */
  readonly reasoningEffort?: string
  /** One line for stderr, if the choice needs an explanation. */
  readonly notice?: string
}

/** A variable's trimmed value; a blank value counts as not set. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

/** A key that can be sent: spaces and line breaks get into keys by copying. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** The gateway, if there is one. The environment takes precedence over the config. */
export function gatewayTarget({ env, gateway }: ModelSources): HostTarget | undefined {
  const url = readVariable(env, gatewayUrlEnv)
  const shared = { kind: 'host', name: 'gateway', quirks: commonQuirks, isFree: false } as const
  // headers, key and format of the configured gateway belong to its address and are not used for a different one
  if (url !== undefined) {
    const address = { baseUrl: url, baseUrlName: gatewayUrlEnv, batchKey: 'gateway.batch' }
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
    ...ownSettings(gateway, 'gateway'),
  }
}

/**
 * The provider for a prefix before `::`, with its base URL from the environment, the config, or the built-in table, in
 * this order. A provider in the config takes precedence over a prefix with the same name.
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

/** The provider name that a prefix before `::` stands for; the provider need not exist. */
export function providerNameOf(prefix: string, { providers }: ModelSources): string {
  if (Object.hasOwn(providers, prefix) || !Object.hasOwn(providerPrefixes, prefix)) return prefix
  return providerPrefixes[prefix]?.provider ?? prefix
}

/** The row with this name in the built-in table. */
export function rowOf(name: string): BuiltInProvider | undefined {
  return Object.hasOwn(builtInProviders, name) ? builtInProviders[name] : undefined
}

/** The address from the provider's variable, if it is set. */
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

/** Whether the provider's variable names a host other than the provider's own. */
export function isElsewhere(row: BuiltInProvider, env: Environment): boolean {
  const url = addressInEnvironment(row, env)
  return url !== undefined && !isSameHost(url, row.baseUrl)
}

function officialTarget(name: string, row: BuiltInProvider, { env }: ModelSources): HostTarget {
  const { baseUrl, format, quirks, isLocal = false, apiKeyEnvs } = row
  const apiKeyEnv = keyVariableSet(row, env) ?? apiKeyEnvs[0]
  const hasBatches = row.hasBatches === true
  const shared = { kind: 'host', name, format, quirks, isFree: isLocal, baseUrl, headers: {}, hasBatches } as const
  return { ...shared, apiKeyEnv, keyRequired: apiKeyEnv !== undefined, ...accountIn(env, row) }
}

function accountIn(env: Environment, { accountEnvs }: BuiltInProvider): Pick<HostTarget, 'account'> {
  if (accountEnvs === undefined) return {}
  const [organization, project] = accountEnvs.map((name) => readVariable(env, name))
  return organization === undefined && project === undefined ? {} : { account: defined({ organization, project }) }
}

function environmentTarget(name: string, row: BuiltInProvider, sources: ModelSources): HostTarget | undefined {
  const baseUrl = addressInEnvironment(row, sources.env)
  if (baseUrl === undefined) return undefined
  const written = row.baseUrlEnv === undefined ? {} : { baseUrlName: row.baseUrlEnv }
  const official = { ...officialTarget(name, row, sources), ...written }
  if (isSameHost(baseUrl, row.baseUrl)) return { ...official, baseUrl }
  const { account: _, ...elsewhere } = official
  return { ...elsewhere, ...dialectElsewhere(row), baseUrl, keyRequired: false }
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
    hasBatches: owner?.hasBatches === true,
    isFree: row?.isLocal === true && ownKey === undefined,
    baseUrl,
    baseUrlName: `providers.${name}.base_url`,
    apiKeyEnv: keyless
      ? undefined
      : (ownKey ?? (row === undefined ? undefined : (keyVariableSet(row, env) ?? row.apiKeyEnvs[0]))),
    keyRequired: ownKey !== undefined,
    headers,
    ...ownSettings(settings, `providers.${name}`),
  }
}

/** Settings that are the same for a provider and the gateway. */
function ownSettings(
  settings: ProviderSettings,
  table: string,
): Pick<HostTarget, 'keyCommand' | 'account' | 'streamIdle' | 'hasBatches' | 'batchKey'> {
  const { api_key_command: line, keyless = false, stream_idle_timeout_ms: ms } = settings
  const { api_version: apiVersion, organization, project } = settings
  return defined({
    hasBatches: settings.batch,
    batchKey: `${table}.batch`,
    keyCommand: line === undefined || keyless ? undefined : { line, from: `${table}.api_key_command` },
    account:
      apiVersion === undefined && organization === undefined && project === undefined
        ? undefined
        : defined({ apiVersion, organization, project }),
    streamIdle: ms === undefined ? undefined : { ms, key: `stream_idle_timeout_ms in [${table}]` },
  })
}

/**
 * Servers at other addresses use the provider's format, except for OpenAI: many servers support only its older format.
 */
function dialectElsewhere({ format, formatElsewhere, quirks }: BuiltInProvider): Pick<HostTarget, 'format' | 'quirks'> {
  return formatElsewhere === undefined ? { format, quirks } : { format: formatElsewhere, quirks: commonQuirks }
}

/** Whether two base URLs have the same host and port. */
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
 * The secrets to mask in addition to the well-known key variables: those named by the user, the keys of the hosts,
 * secrets in the queries of all their addresses, and those of MCP servers.
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

/** Loads the module that finds secrets of MCP servers only if there are servers. */
async function secretsOfServers(
  servers: SecretSettings['mcp_servers'],
  env: Environment,
): Promise<ReturnType<typeof serverSecrets>> {
  if (servers === undefined) return { keys: [], values: {} }
  return (await import('../journal/server-secrets.ts')).serverSecrets(servers, env)
}

/** Query parameters that are not secret, such as versions and regions. */
const publicParameter = /version|^(?:region|location|deployment|model|project|provider)$/i

/** The decoded values, and the encoded ones if they differ. */
function querySecrets(name: string, url: string): readonly (readonly [string, string])[] {
  if (!URL.canParse(url)) return []
  const entries = [...new URL(url).searchParams].filter(([parameter]) => !publicParameter.test(parameter))
  return entries.flatMap(([parameter, value]) => {
    const encoded = encodeURIComponent(value)
    const plain = [`${name}?${parameter}`, value] as const
    return encoded === value ? [plain] : [plain, [`${name}?${parameter}%`, encoded] as const]
  })
}
