import { join } from 'node:path'
import { describeOrigins } from '../config/origins.ts'
import { chooseModelFor } from '../model/choose.ts'
import { gatewayTarget, type ModelChoice, type ModelSources } from '../model/choice.ts'
import { createProvider } from '../model/create.ts'
import { askLocalServers, firstLocalModel, type LocalServer, localServersEnv } from '../model/local.ts'
import { loadModelTable, roles } from '../model/table.ts'
import { type Check, checksOf, type Patient } from './check.ts'
import type { ConfigFound } from './config.ts'

/** Looks for servers on this machine, and says which model would answer. Nothing is asked but their lists of models. */
export async function checkModels(patient: Patient, config: ConfigFound): Promise<readonly Check[]> {
  const servers = await askLocalServers(patient)
  const found = checkServers(servers)
  if (!config.isRight) {
    const message = 'not looked at, because the config is not right'
    return [...found, { name: 'model', status: 'note', message }]
  }
  return [...found, ...(await checkChoice(servers, patient, config))]
}

function checkServers(servers: readonly LocalServer[]): readonly Check[] {
  const name = 'servers'
  if (servers.length === 0) {
    return [{ name, status: 'note', message: `not looked for, because ${localServersEnv} is off` }]
  }
  const answering = servers.flatMap(({ provider, models }) => (models === undefined ? [] : [{ provider, models }]))
  const elsewhere = servers.some(({ provider }) => provider.name === 'ollama') ? [] : [remoteOllama]
  if (answering.length === 0) {
    const asked = servers.map(({ provider }) => `${provider.name} ${hostOf(provider)}`).join(', ')
    return [{ name, status: 'note', message: `none answers on this machine (${asked})` }, ...elsewhere]
  }
  const checks = answering.map(({ provider, models }): Check => {
    const where = `${provider.name} on ${hostOf(provider)}`
    if (models.length > 0) return { name, status: 'ok', message: `${where} has ${someOf(models)}` }
    return { name, status: 'warn', message: `${where} has no model`, hint: 'Load one there.' }
  })
  return [...checks, ...elsewhere]
}

const remoteOllama: Check = {
  name: 'servers',
  status: 'note',
  message: 'OLLAMA_HOST is not on this machine: it is not asked, and used for ollama::NAME only',
}

function someOf(models: readonly string[]): string {
  const shown = models.slice(0, 3).join(', ')
  return models.length > 3 ? `${shown} and ${models.length - 3} more` : shown
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
    chooseModelFor(name, sources, { loadTable: () => table, findLocal: async () => firstLocalModel(servers) })
  let choice: ModelChoice
  try {
    choice = await choose(model)
  } catch (error) {
    // where none is named, prompt files and -m may still name one
    return checksOf('model', error, model === undefined ? 'warn' : 'fail')
  }
  try {
    // finds a key that is missing or cannot be sent, and an address that is none; asks nobody
    await createProvider(choice, { env })
    const why = model === undefined ? whyThis(choice, sources) : await whereNamed(model, origins)
    const { notice } = choice
    if (choice.provider.kind === 'offline' && notice !== undefined) {
      const hint = notice.slice(notice.indexOf(';') + 2)
      return [{ name: 'model', status: 'warn', message: `${choice.label}: ${why}`, hint: capital(hint) }]
    }
    return [{ name: 'model', status: 'ok', message: `${choice.label}: ${why}` }, ...(await checkRoles(choose))]
  } catch (error) {
    return checksOf('model', error)
  }
}

async function whereNamed(model: string, origins: ConfigFound['origins']): Promise<string> {
  const rows = await describeOrigins({
    origins: origins.filter(({ path }) => path.length === 1 && path[0] === 'model'),
  })
  return `${JSON.stringify(model)} is named by ${rows[0]?.origin ?? 'the settings'}`
}

function whyThis({ provider }: ModelChoice, sources: ModelSources): string {
  if (provider.kind === 'offline') return 'no key is set, and no server of this machine has a model'
  if (gatewayTarget(sources) !== undefined) return `the gateway ${hostOf(provider)} answers whatever is named`
  if (provider.isFree && provider.apiKeyEnv === undefined) {
    return `no key is set, and ${provider.name} on ${hostOf(provider)} has it`
  }
  if (provider.apiKeyEnv === undefined) return `${provider.name} of your config file needs no key`
  return `${provider.apiKeyEnv} is the first key that is set`
}

/** What the three names stand for that always exist. */
async function checkRoles(choose: (name: string) => Promise<ModelChoice>): Promise<readonly Check[]> {
  try {
    const choices = await Promise.all(roles.map(async (role) => `${role} is ${(await choose(role)).label}`))
    return [{ name: 'aliases', status: 'ok', message: choices.join(', ') }]
  } catch (error) {
    return checksOf('aliases', error, 'note')
  }
}

function hostOf({ baseUrl }: { readonly baseUrl: string }): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : 'an address that is none'
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}
