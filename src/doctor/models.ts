import { join } from 'node:path'
import { messageOf } from '../base/error.ts'
import { describeOrigins } from '../config/layers.ts'
import type { Settings } from '../config/settings.ts'
import { readBaseUrl, readBaseUrlVariable } from '../model/base-url.ts'
import { builtInProviders, gatewayKeyEnv, gatewayUrlEnv } from '../model/builtin.ts'
import { gatewayTarget, type ModelChoice, type ModelSources, readVariable } from '../model/choice.ts'
import { chooseModelFor } from '../model/select.ts'
import { createProvider } from '../model/create.ts'
import { askLocalServers, firstLocalModel, type LocalServer, localServersEnv } from '../model/local.ts'
import { loadModelTable, roles } from '../model/table.ts'
import { type Check, checksOf, note, ok, type Patient, warn } from './check.ts'
import type { ConfigFound } from './config.ts'

/** Which keys and addresses the environment has. Values of keys are never shown. */
export function checkKeys({ env }: Pick<Patient, 'env'>, settings: Settings): readonly Check[] {
  const known = [...Object.values(builtInProviders).flatMap(({ apiKeyEnvs }) => apiKeyEnvs), gatewayKeyEnv]
  const wanted = wantedKeys(settings)
  const names = new Set([...known, ...wanted.map(({ variable }) => variable)])
  const present = [...names].filter((name) => readVariable(env, name) !== undefined)
  const hint = 'A key is an environment variable, for example OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.'
  return [
    present.length > 0 ? ok('keys', `${present.join(', ')} (values are not shown)`) : note('keys', 'none is set', hint),
    ...present.flatMap((name) => checkKey(name, env)),
    ...wanted
      .filter(({ variable }) => !present.includes(variable))
      .map(({ by, variable }) =>
        warn(
          'keys',
          `${by} needs ${variable}, which is not set`,
          `Set ${variable}, or remove ${by} from your config file.`,
        ),
      ),
    ...checkAddresses(env),
  ]
}

function wantedKeys({ providers, gateway }: Settings): readonly { readonly variable: string; readonly by: string }[] {
  const tables = [
    ...Object.entries(providers).map(([name, { api_key_env: variable }]) => ({ by: `providers.${name}`, variable })),
    { by: 'gateway', variable: gateway?.api_key_env },
  ]
  return tables.flatMap(({ by, variable }) => (variable === undefined ? [] : [{ by, variable }]))
}

/** The same test as before a call: spaces and line breaks get into keys by copying. */
function checkKey(name: string, env: Patient['env']): readonly Check[] {
  if (/^[\x21-\x7e]+$/.test(readVariable(env, name) ?? '')) return []
  const message = `${name} contains a space or a character that cannot be part of a key`
  return [warn('keys', message, `Set ${name} again, without quotes and line breaks.`)]
}

/** Variables that replace the address of a provider: the host they name gets its key. */
function checkAddresses(env: Patient['env']): readonly Check[] {
  const rows = Object.values(builtInProviders).flatMap(({ baseUrlEnv, baseUrlForm }) =>
    baseUrlEnv === undefined ? [] : [{ variable: baseUrlEnv, form: baseUrlForm }],
  )
  return [{ variable: gatewayUrlEnv, form: undefined }, ...rows].flatMap(({ variable, form }): readonly Check[] => {
    const value = readVariable(env, variable)
    if (value === undefined) return []
    try {
      return [ok('address', `${variable} points to ${readBaseUrl(readBaseUrlVariable(value, form), variable).host}`)]
    } catch (error) {
      return [warn('address', messageOf(error), 'It looks like https://host/v1.')]
    }
  })
}

/** Looks for servers on this machine, and for the model that would answer. Servers are only asked for their models. */
export async function checkModels(patient: Patient, config: ConfigFound): Promise<readonly Check[]> {
  const servers = await askLocalServers(patient)
  const found = checkServers(servers)
  if (!config.isValid) return [...found, note('model', 'not checked, because the config is invalid')]
  return [...found, ...(await checkChoice(servers, patient, config))]
}

function checkServers(servers: readonly LocalServer[]): readonly Check[] {
  if (servers.length === 0) return [note('servers', `not checked, because ${localServersEnv} is off`)]
  const isRemote = !servers.some(({ provider }) => provider.name === 'ollama')
  const remote = isRemote
    ? [note('servers', 'OLLAMA_HOST is not on this machine: it is not contacted, and only used for ollama::NAME')]
    : []
  const answering = servers.filter(({ models }) => models !== undefined)
  if (answering.length === 0) {
    const asked = servers.map(({ provider }) => `${provider.name} ${hostOf(provider)}`).join(', ')
    return [note('servers', `no server on this machine answers (${asked})`), ...remote]
  }
  const checks = answering.map(({ provider, models = [] }): Check => {
    const where = `${provider.name} on ${hostOf(provider)}`
    if (models.length === 0) return warn('servers', `${where} has no model`, 'Load one there.')
    const more = models.length > 3 ? ` and ${models.length - 3} more` : ''
    return ok('servers', `${where} has ${models.slice(0, 3).join(', ')}${more}`)
  })
  return [...checks, ...remote]
}

async function checkChoice(
  servers: readonly LocalServer[],
  { env, root }: Patient,
  { settings, origins }: ConfigFound,
): Promise<readonly Check[]> {
  const { providers, gateway, model_aliases: aliases, model } = settings
  const sources: ModelSources = { env, providers, gateway, aliases }
  const table = loadModelTable(join(root, 'agents', 'models.toml'))
  const choose = (name: string | undefined): Promise<ModelChoice> =>
    chooseModelFor(name, sources, {
      loadTable: () => table,
      findLocal: async () => firstLocalModel(servers),
      isAttended: true,
    })
  let choice: ModelChoice
  try {
    choice = await choose(model)
  } catch (error) {
    // if none is named, prompt files and -m may still name one
    return checksOf('model', error, model === undefined ? 'warn' : 'fail')
  }
  try {
    // finds a key that is missing or cannot be sent, and an invalid address; nothing is sent
    await createProvider(choice, { env })
    const why = model === undefined ? reasonFor(choice, sources) : await whereNamed(model, origins)
    const { label, notice, provider } = choice
    if (provider.kind !== 'offline' || notice === undefined)
      return [ok('model', `${label}: ${why}`), ...(await checkRoles(choose))]
    const hint = notice.slice(notice.indexOf(';') + 2)
    return [warn('model', `${label}: ${why}`, `${hint.slice(0, 1).toUpperCase()}${hint.slice(1)}.`)]
  } catch (error) {
    return checksOf('model', error)
  }
}

async function whereNamed(model: string, origins: ConfigFound['origins']): Promise<string> {
  const named = origins.filter(({ path }) => path.length === 1 && path[0] === 'model')
  const [row] = await describeOrigins({ origins: named })
  return `${JSON.stringify(model)} is set by ${row?.origin ?? 'the settings'}`
}

function reasonFor({ provider }: ModelChoice, sources: ModelSources): string {
  if (provider.kind === 'offline') return 'no key is set, and no server of this machine has a model'
  if (gatewayTarget(sources) !== undefined) return `the gateway ${hostOf(provider)} accepts every model name`
  if (provider.isFree && provider.apiKeyEnv === undefined) {
    return `no key is set, and ${provider.name} on ${hostOf(provider)} has it`
  }
  if (provider.apiKeyEnv === undefined) return `${provider.name} of your config file needs no key`
  return `${provider.apiKeyEnv} is the first key that is set`
}

/** The models behind the three names that always exist. */
async function checkRoles(choose: (name: string) => Promise<ModelChoice>): Promise<readonly Check[]> {
  try {
    const choices = await Promise.all(roles.map(async (role) => `${role} is ${(await choose(role)).label}`))
    return [ok('aliases', choices.join(', '))]
  } catch (error) {
    return checksOf('aliases', error, 'note')
  }
}

function hostOf({ baseUrl }: { readonly baseUrl: string }): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : 'an invalid address'
}
