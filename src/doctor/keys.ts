import { messageOf } from '../base/error.ts'
import type { Settings } from '../config/settings.ts'
import { readBaseUrlVariable } from '../model/base-url-env.ts'
import { readBaseUrl } from '../model/base-url.ts'
import { builtInProviders, gatewayKeyEnv, gatewayUrlEnv } from '../model/builtin.ts'
import { readVariable } from '../model/choice.ts'
import type { Check, Patient } from './check.ts'

/** Which keys and addresses the environment has. Values of keys are never shown. */
export function checkKeys({ env }: Pick<Patient, 'env'>, settings: Settings): readonly Check[] {
  const names = [...Object.values(builtInProviders).flatMap(({ apiKeyEnvs }) => apiKeyEnvs), gatewayKeyEnv]
  const wanted = wantedKeys(settings)
  const present = [...new Set([...names, ...wanted.map(({ variable }) => variable)])].filter(
    (name) => readVariable(env, name) !== undefined,
  )
  return [
    present.length > 0
      ? { name: 'keys', status: 'ok', message: `${present.join(', ')} (values are not shown)` }
      : {
          name: 'keys',
          status: 'note',
          message: 'none is set',
          hint: 'A key is an environment variable, for example OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.',
        },
    ...present.flatMap((name) => damagedKey(name, env)),
    ...wanted.flatMap((key) => missingKey(key, env)),
    ...addresses(env),
  ]
}

interface WantedKey {
  readonly variable: string
  readonly by: string
}

/** Keys that the config names. */
function wantedKeys({ providers, gateway }: Settings): readonly WantedKey[] {
  const tables = [
    ...Object.entries(providers).map(([name, { api_key_env: variable }]) => ({ by: `providers.${name}`, variable })),
    { by: 'gateway', variable: gateway?.api_key_env },
  ]
  return tables.flatMap(({ by, variable }) => (variable === undefined ? [] : [{ by, variable }]))
}

function missingKey({ variable, by }: WantedKey, env: Patient['env']): readonly Check[] {
  if (readVariable(env, variable) !== undefined) return []
  const message = `${by} wants ${variable}, which is not set`
  return [{ name: 'keys', status: 'warn', message, hint: `Set ${variable}, or remove ${by} from your config file.` }]
}

/** The same test as before a call: blanks and line breaks get into keys by copying. */
function damagedKey(name: string, env: Patient['env']): readonly Check[] {
  if (/^[\x21-\x7e]+$/.test(readVariable(env, name) ?? '')) return []
  const message = `${name} holds a blank or a character that cannot be part of a key`
  return [{ name: 'keys', status: 'warn', message, hint: `Set ${name} again, without quotes and line breaks.` }]
}

/** Variables that replace the address of a provider: whoever is named there gets its key. */
function addresses(env: Patient['env']): readonly Check[] {
  const rows = Object.values(builtInProviders).flatMap(({ baseUrlEnv, baseUrlForm }) =>
    baseUrlEnv === undefined ? [] : [{ variable: baseUrlEnv, form: baseUrlForm }],
  )
  return [{ variable: gatewayUrlEnv, form: undefined }, ...rows].flatMap(({ variable, form }): readonly Check[] => {
    const value = readVariable(env, variable)
    if (value === undefined) return []
    try {
      const { host } = readBaseUrl(readBaseUrlVariable(value, form), variable)
      return [{ name: 'address', status: 'ok', message: `${variable} leads to ${host}` }]
    } catch (error) {
      const hint = 'It looks like https://host/v1.'
      return [{ name: 'address', status: 'warn', message: messageOf(error), hint }]
    }
  })
}
