import { pricedModel } from '../agent/models.ts'
import { isBatonError } from '../base/error.ts'
import { userPricesFile } from '../config/locate.ts'
import type { Settings } from '../config/settings.ts'
import { builtInProviders, gatewayUrlEnv } from '../model/builtin.ts'
import {
  type Environment,
  gatewayTarget,
  type HostTarget,
  type ModelChoice,
  type ModelSources,
  readVariable,
} from '../model/choice.ts'
import type { OwnPrices } from '../model/own-price.ts'
import { loadPrices, type PriceList, type PriceSource, type ShownRates } from '../model/prices.ts'
import { selectModel } from '../model/select.ts'
import { loadModelTable, type ModelTable, roles } from '../model/table.ts'

/** A model of a host, and what is known of it. */
export interface KnownModel {
  /** For example `openai::gpt-6.2-sol`. */
  readonly label: string
  readonly provider: string
  /** The name that is sent to the host. */
  readonly model: string
  /** Its short names. */
  readonly names: readonly string[]
  readonly rates: ShownRates | undefined
  /** Tokens of its context window. */
  readonly window: number | undefined
  /** The variable or config key of the key, and whether it is set; undefined if none is needed. Never its value. */
  readonly key: { readonly name: string; readonly isSet: boolean } | undefined
}

export interface KnownModels {
  /** By provider: those of the user's config first. */
  readonly models: readonly KnownModel[]
  /** Where their prices come from. */
  readonly source: PriceSource
  /** A gateway gets every name unchanged; `models` has what the names mean without it. */
  readonly hasGateway: boolean
}

interface Around {
  readonly env: Environment
  readonly home: string
  readonly settings: Pick<Settings, 'providers' | 'gateway' | 'model_aliases' | 'prices'>
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
}

/**
 * The models that have a short name here, or are a provider's usual, best or quick one. Nothing is called. `isWide`:
 * with all models that have a price.
 */
export async function findModels(
  { env, home, settings, tableFile }: Around,
  { isWide }: { readonly isWide: boolean },
): Promise<KnownModels> {
  const { providers, gateway, model_aliases: aliases, prices: ownPrices } = settings
  const [table, prices] = await Promise.all([
    loadModelTable(tableFile),
    loadPrices({ tableFile, updatedFile: userPricesFile({ env, home }) }),
  ])
  const sources = { env: { ...env, [gatewayUrlEnv]: undefined }, providers, aliases }
  return {
    models: knownModels({ sources, table, prices, ownPrices }, { isWide }),
    source: prices.source,
    hasGateway: gatewayTarget({ env, providers, gateway, aliases }) !== undefined,
  }
}

interface Known {
  readonly sources: ModelSources
  readonly table: ModelTable
  readonly prices: PriceList
  readonly ownPrices: OwnPrices
}

interface Found {
  readonly choice: HostChoice
  readonly isNamed: boolean
  readonly names: Set<string>
}

type HostChoice = ModelChoice & { readonly provider: HostTarget }

function knownModels(
  { sources, table, prices, ownPrices }: Known,
  { isWide }: { readonly isWide: boolean },
): readonly KnownModel[] {
  const short = [...roles, ...Object.keys(sources.aliases), ...Object.keys(table.aliases)]
  const named = new Set([
    ...short,
    ...Object.keys(sources.providers).map((provider) => `${provider}::`),
    ...Object.entries(table.providers).flatMap(([name, models]) => Object.values(models).map((id) => `${name}::${id}`)),
    ...Object.keys(table.prices),
    ...Object.keys(ownPrices).filter((name) => name.includes('::') && !name.includes('*')),
  ])
  const written = [
    ...named,
    ...(isWide
      ? Object.keys(builtInProviders).flatMap((name) =>
          prices.modelsOf(name).flatMap((id) => (isOfOther(id, name) ? [] : `${name}::${id}`)),
        )
      : []),
  ]
  const found = new Map<string, Found>()
  for (const name of new Set(written)) {
    const choice = choiceOf(name, sources, table)
    if (choice === undefined) continue
    const { names, isNamed } = found.get(choice.label) ?? { names: new Set(), isNamed: named.has(name) }
    if (short.includes(name)) names.add(name)
    found.set(choice.label, { choice, names, isNamed })
  }
  const models = [...found].flatMap(([label, { choice, names, isNamed }]): readonly KnownModel[] => {
    const model = pricedModel(choice, ownPrices)
    const rates = prices.rates(model)
    // a host may serve a model of the package by a name that cannot be written here
    if (rates === undefined && !isNamed) return []
    const [window, key] = [prices.windowOf(model), keyOf(choice, sources.env)]
    const { provider, model: id } = choice
    return [{ label, provider: provider.name, model: id, names: [...names], rates, window, key }]
  })
  const order = [...Object.keys(sources.providers), ...Object.keys(builtInProviders)]
  const placeOf = ({ provider }: KnownModel): number => order.indexOf(provider)
  return models.toSorted((left, right) => placeOf(left) - placeOf(right))
}

/** The prices of a vendor may include models of another one, which a different service of it offers. */
function isOfOther(id: string, provider: string): boolean {
  if (builtInProviders[provider]?.names === undefined) return false
  return Object.entries(builtInProviders).some(([name, { names }]) => name !== provider && names?.test(id) === true)
}

/** Undefined for a name that means nothing here, such as a role without a key. */
function choiceOf(name: string, sources: ModelSources, table: ModelTable): HostChoice | undefined {
  try {
    const selection = selectModel(name, sources, table)
    if (selection.kind !== 'chosen') return undefined
    const { provider, ...choice } = selection.choice
    return provider.kind === 'host' ? { ...choice, provider } : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

function keyOf({ provider: { keyCommand, apiKeyEnv } }: HostChoice, env: Environment): KnownModel['key'] {
  if (keyCommand !== undefined) return { name: keyCommand.from, isSet: true }
  return apiKeyEnv === undefined ? undefined : { name: apiKeyEnv, isSet: readVariable(env, apiKeyEnv) !== undefined }
}
