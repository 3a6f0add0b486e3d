import { builtInProviders, gatewayKeyEnv, gatewayUrlEnv } from './builtin.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** A provider as the user's own config names it. */
interface ProviderSettings {
  readonly base_url: string
  /** The environment variable that holds the key; it must be set then. */
  readonly api_key_env?: string | undefined
  readonly default_model?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
}

/**
 * Everything a model is chosen from. `providers` and `gateway` must come from the user's own config, never from a file
 * that came with a folder: keys of the environment are sent to their base URLs (DESIGN 3 "Trust").
 */
export interface ModelSources {
  readonly env: Environment
  readonly providers: { readonly [name: string]: ProviderSettings }
  readonly gateway?: ProviderSettings | undefined
  readonly aliases: { readonly [alias: string]: string }
}

/** An endpoint for chat completions. It holds the name of the key's variable, never the key. */
export interface ChatTarget {
  readonly kind: 'chat'
  readonly name: string
  readonly baseUrl: string
  readonly apiKeyEnv: string | undefined
  /** Whether a call makes sense without the key. */
  readonly keyRequired: boolean
  readonly headers: { readonly [name: string]: string }
}

type ModelTarget = ChatTarget | { readonly kind: 'offline' }

export interface ModelChoice {
  readonly provider: ModelTarget
  /** The name the endpoint is asked for, without an effort suffix. */
  readonly model: string
  /** For people and events, for example `openai::gpt-5-mini`. */
  readonly label: string
  /** From the suffix of the name; it goes before a `reasoning_effort` of the settings. */
  readonly reasoningEffort?: string
  /** One line for stderr, when the choice needs explaining. */
  readonly notice?: string
}

/** A variable's value without blanks around it; a blank value counts as not set (spec/aipack.md 4.5). */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

/** Where the gateway is, when there is one. The one of the environment goes before the configured one. */
export function gatewayTarget({ env, gateway }: ModelSources): ChatTarget | undefined {
  const url = readVariable(env, gatewayUrlEnv)
  const shared = { kind: 'chat', name: 'gateway' } as const
  // headers and key of the configured gateway belong to its address and are not sent to another one
  if (url !== undefined) return { ...shared, baseUrl: url, apiKeyEnv: gatewayKeyEnv, keyRequired: false, headers: {} }
  if (gateway === undefined) return undefined
  return {
    ...shared,
    baseUrl: gateway.base_url,
    apiKeyEnv: gateway.api_key_env ?? gatewayKeyEnv,
    keyRequired: gateway.api_key_env !== undefined,
    headers: gateway.headers ?? {},
  }
}

/** Where the provider of this name is: base URL of the environment, else of the config, else built in. */
export function providerTarget(name: string, { env, providers }: ModelSources): ChatTarget | undefined {
  const builtIn = Object.hasOwn(builtInProviders, name) ? builtInProviders[name] : undefined
  const settings = Object.hasOwn(providers, name) ? providers[name] : undefined
  const url = builtIn?.baseUrlEnv === undefined ? undefined : readVariable(env, builtIn.baseUrlEnv)
  const shared = { kind: 'chat', name } as const
  if (url !== undefined) {
    return { ...shared, baseUrl: url, apiKeyEnv: builtIn?.apiKeyEnv, keyRequired: false, headers: {} }
  }
  if (settings !== undefined) {
    return {
      ...shared,
      baseUrl: settings.base_url,
      apiKeyEnv: settings.api_key_env ?? builtIn?.apiKeyEnv,
      keyRequired: settings.api_key_env !== undefined,
      headers: settings.headers ?? {},
    }
  }
  if (builtIn === undefined) return undefined
  return { ...shared, baseUrl: builtIn.baseUrl, apiKeyEnv: builtIn.apiKeyEnv, keyRequired: true, headers: {} }
}
