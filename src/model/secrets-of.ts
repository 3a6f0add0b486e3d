import type { MaskOptions } from '../journal/secrets.ts'
import { builtInProviders, gatewayUrlEnv } from './builtin.ts'
import { readVariable, type Environment } from './choice.ts'

interface Host {
  readonly base_url: string
  readonly api_key_env?: string | undefined
}

/** The parts of the settings in which secrets are named. */
export interface SecretSettings {
  readonly secrets: readonly string[]
  readonly providers: { readonly [name: string]: Host }
  readonly gateway?: Host | undefined
}

/**
 * What is to be masked besides the well-known key variables: what the user named, the keys of the hosts, and the secrets
 * in the queries of their addresses, wherever those come from.
 */
export function secretsOf({ secrets, providers, gateway }: SecretSettings, env: Environment): MaskOptions {
  const hosts = [...Object.values(providers), ...(gateway === undefined ? [] : [gateway])]
  const variables = [gatewayUrlEnv, ...Object.values(builtInProviders).flatMap(({ baseUrlEnv = [] }) => baseUrlEnv)]
  const addresses: readonly (readonly [string, string])[] = [
    ...variables.map((name) => [name, readVariable(env, name) ?? ''] as const),
    ...Object.entries(providers).map(([name, { base_url: url }]) => [`providers.${name}.base_url`, url] as const),
    ['gateway.base_url', gateway?.base_url ?? ''],
  ]
  return {
    names: secrets,
    keys: hosts.flatMap(({ api_key_env: name }) => name ?? []),
    values: Object.fromEntries(addresses.flatMap(([name, url]) => querySecrets(name, url))),
  }
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
