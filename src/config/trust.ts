import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { Finding } from './issue.ts'
import { reserved } from './keys.ts'

/** How the user stands to a file: `changed` was trusted with other content; `none` can never be trusted, it is no file. */
export type TrustState = 'trusted' | 'changed' | 'untrusted' | 'none'

export interface TrustOptions {
  /** The file that sets the keys, as errors name it. */
  readonly file: string
  /** The user's own config file, where such keys belong. */
  readonly userFile: string
  readonly state: TrustState
}

/** The keys of a file that only the user may set. */
export function guardedKeys(data: JsonObject): readonly string[] {
  return Object.keys(data).filter((key) => reserved.get(key)?.isGuarded === true)
}

/**
 * Keys that a file which came with a folder may not set until its user has trusted it: who is asked, which programs are
 * started, what may be changed (DESIGN 3 "Trust"). `file` is a workspace config file or a prompt file. Which key is sent
 * to a host no such file ever says. Findings have exit code 6.
 */
export function checkTrust(data: JsonObject, options: TrustOptions): readonly Finding[] {
  const keys = guardedKeys(data)
  if (options.state !== 'trusted') {
    return keys.map((key) => ({ code: 'UNTRUSTED', path: [key], part: 'key', ...refusal(key, options) }))
  }
  return keyPaths(data).map((path) => ({
    code: 'UNTRUSTED',
    message: `"${path.join('.')}" may not be set by ${options.file}: which key is sent where only you say, even for a trusted file`,
    hint: `Remove it, or move the host into your own config file ${options.userFile}.`,
    path,
    part: 'key',
  }))
}

function refusal(key: string, { file, userFile, state }: TrustOptions): Pick<Finding, 'message' | 'hint'> {
  if (state === 'changed') {
    return {
      message: `"${key}" may not be set by ${file}: the file has changed since it was trusted`,
      hint: `Look at what has changed, then run baton trust ${file} again.`,
    }
  }
  const trust = state === 'none' ? '' : `look at the file and run baton trust ${file}, or `
  return {
    message: `"${key}" may not be set by ${file}: files that come with a folder are not trusted with it`,
    hint: `If you want it, ${trust}put it into your own config file ${userFile}.`,
  }
}

/** Where hosts name the variable of their key. */
function keyPaths({ providers = null, gateway = null }: JsonObject): readonly DataPath[] {
  const named = isJsonObject(providers) ? Object.entries(providers) : []
  const hosts: readonly (readonly [DataPath, Json])[] = [
    ...named.map(([name, host]) => [['providers', name], host] as const),
    [['gateway'], gateway],
  ]
  return hosts.flatMap(([path, host]) => {
    const names = isJsonObject(host) && host['api_key_env'] !== undefined
    return names ? [[...path, 'api_key_env']] : []
  })
}

/** Values of a trusted file: its hosts get no key of the environment (DESIGN 3 "Trust"). */
export function withoutKeys(values: JsonObject): JsonObject {
  const { providers, gateway } = values
  const keyless = (host: Json): Json => (isJsonObject(host) ? { ...host, keyless: true } : host)
  return {
    ...values,
    ...(isJsonObject(providers)
      ? { providers: Object.fromEntries(Object.entries(providers).map(([name, host]) => [name, keyless(host)])) }
      : {}),
    ...(gateway === undefined ? {} : { gateway: keyless(gateway) }),
  }
}
