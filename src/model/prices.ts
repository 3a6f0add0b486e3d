import type { Usage } from '../event/message.ts'
import { builtInProviders } from './builtin.ts'
import { isSameHost } from './choice.ts'
import { costByOwnPrice, type OwnPrice } from './own-price.ts'
import {
  bundledPrices,
  loadPricePackage,
  type ModelInfo,
  type ModelPrice,
  type PriceCalculation,
  type PricePackage,
  type PriceProvider,
} from './price-package.ts'
import { readUpdatedPrices } from './updated-prices.ts'
import { type ListedPrice, loadModelTable, type ModelTable, type Rates } from './table.ts'

/** What identifies the price of a model. */
export interface PricedModel {
  /** Name of the provider in the built-in table or the config. */
  readonly provider: string
  /** Root of its API; undefined if no host is called. */
  readonly baseUrl: string | undefined
  readonly model: string
  /** True for the offline model and self-hosted servers. */
  readonly isFree: boolean
  /** The user's own price, which takes precedence over the list. */
  readonly own?: OwnPrice | undefined
}

export interface PriceList {
  /** US dollars of one call; undefined if the price is not known, or the host did not report tokens. */
  costOf(model: PricedModel, usage: Usage): number | undefined
  /**
   * The highest price of one token in US dollars, for estimates; undefined if the price is not known. If long inputs
   * cost more, the rate depends on `inputTokens`; if omitted, the highest rate applies.
   */
  perToken(model: PricedModel, inputTokens?: number): TokenPrices | undefined
  /** What a short request costs now; undefined if the price is not known. */
  rates(model: PricedModel): ShownRates | undefined
  /** Tokens of its context window, if known. At another host it is that of the model with the same name. */
  windowOf(model: PricedModel): number | undefined
  /** The models with a price at the own address of a built-in provider. */
  modelsOf(provider: string): readonly string[]
  readonly source: PriceSource
}

/** Where the prices come from. */
export interface PriceSource {
  /** The day on which the prices of the table of models were checked. */
  readonly checked: string
  /** The npm package with the other prices. */
  readonly package: string
  readonly version: string
  /** Whether `baton models update` has taken it. */
  readonly updated: boolean
}

/** US dollars for one token. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
}

/** US dollars for a million tokens. */
export type ShownRates = Pick<Rates, 'input' | 'cached' | 'output'>

export interface PriceSources {
  /** `agents/models.toml`, absolute: its prices go before those of the package of prices, which is older. */
  readonly tableFile?: string
  /** What `baton models update` writes, absolute. */
  readonly updatedFile?: string
  readonly now?: () => Date
}

/**
 * Loads the prices that come with Baton, or that the user has updated; nothing is fetched. The list is large: load it
 * only if a paid host is called.
 * The provider is found by the base URL, otherwise by its name, but only at its own host; `now` selects among prices
 * that change over time.
 */
export async function loadPrices({
  tableFile,
  updatedFile,
  now = () => new Date(),
}: PriceSources = {}): Promise<PriceList> {
  const bundled = await loadPricePackage()
  const { prices: table, pricesChecked: checked } =
    tableFile === undefined ? { prices: {}, pricesChecked: '' } : await loadModelTable(tableFile)
  const updated = updatedFile === undefined ? undefined : readUpdatedPrices(updatedFile)
  const providers = updated?.providers ?? bundled.providers
  const isPackageNewer = updated?.published !== undefined && updated.published > checked
  const lookUp = createLookUp({ calcPrice: bundled.calcPrice, providers, table, isPackageNewer, now })

  return {
    costOf(model, usage) {
      if (model.isFree) return 0
      if (count(usage.input) + count(usage.output) === 0) return undefined
      if (model.own !== undefined) return costByOwnPrice(model.own, usage)
      return lookUp(model, usage)?.total_price
    },
    perToken(model, inputTokens = Infinity) {
      if (model.isFree) return { input: 0, output: 0 }
      if (model.own !== undefined) return { input: model.own.input / 1e6, output: model.own.output / 1e6 }
      const prices = lookUp(model, oneToken)?.model_price
      if (prices === undefined) return undefined
      const dearest = (...names: readonly string[]): number => {
        return Math.max(...names.map((name) => rate(prices[name], inputTokens))) / 1e6
      }
      return {
        input: dearest('input_mtok', 'cache_write_mtok'),
        output: dearest('output_mtok', 'output_reasoning_mtok'),
      }
    },
    rates(model) {
      if (model.isFree) return { input: 0, cached: 0, output: 0 }
      if (model.own !== undefined) return { ...model.own, cached: model.own.cached ?? model.own.input }
      const prices = lookUp(model, oneToken)?.model_price
      if (prices === undefined) return undefined
      const [input, output] = [rate(prices['input_mtok'], 0), rate(prices['output_mtok'], 0)]
      const cached = prices['cache_read_mtok']
      return { input, cached: cached === undefined ? input : rate(cached, 0), output }
    },
    windowOf: (model) => lookUp(model, oneToken)?.model.context_window ?? windowOfName(model.model, table, providers),
    modelsOf(provider) {
      const listed = Object.keys(table).filter((label) => label.startsWith(`${provider}::`))
      const { models = [] } = providers.find(({ id }) => id === listNameOf(provider)) ?? {}
      const ids = models.filter(({ prices, deprecated = false }) => !deprecated && hasPrice(prices)).map(({ id }) => id)
      return [...new Set([...listed.map((label) => label.slice(provider.length + 2)), ...ids])]
    },
    source: {
      checked,
      package: bundledPrices.name,
      version: updated?.version ?? bundledPrices.version,
      updated: updated !== undefined,
    },
  }
}

/** The smallest window of the models with this name, which may have that of a vendor before it. */
function windowOfName(
  model: string,
  table: ModelTable['prices'],
  providers: readonly PriceProvider[],
): number | undefined {
  const name = model.toLowerCase().replace(/^.*\//, '')
  const tabled = Object.entries(table).flatMap(([label, { window }]) => (label.endsWith(`::${name}`) ? [window] : []))
  const listed = providers.flatMap(({ models }) =>
    models.flatMap(({ id, context_window: window }) => (id.toLowerCase() === name ? (window ?? []) : [])),
  )
  const found = tabled.length > 0 ? tabled : listed
  return found.length === 0 ? undefined : Math.min(...found)
}

const oneToken: Usage = { calls: 1, input: 1, output: 1, cached: 0, reasoning: 0 }

/** Providers that have a different name in the list. */
const listNames: { readonly [provider: string]: string } = { gemini: 'google', xai: 'x-ai', moonshot: 'moonshotai' }

function listNameOf(provider: string): string {
  return (Object.hasOwn(listNames, provider) ? listNames[provider] : undefined) ?? provider
}

interface Lists extends PricePackage {
  readonly table: ModelTable['prices']
  /** Whether the package is newer than the table: then a model that it has by its exact name costs what it says. */
  readonly isPackageNewer: boolean
  readonly now: () => Date
}

function createLookUp({
  calcPrice,
  providers,
  table,
  isPackageNewer,
  now,
}: Lists): (model: PricedModel, usage: Usage) => PriceCalculation | undefined {
  const byAddress = providers.map((provider) => [new RegExp(`^(?:${provider.api_pattern})`), provider] as const)

  function providerOf({ provider: name, baseUrl }: PricedModel): PriceProvider | undefined {
    const [, byUrl] = byAddress.find(([address]) => baseUrl !== undefined && address.test(baseUrl)) ?? []
    if (byUrl !== undefined) return byUrl
    // a server at another address that uses a provider's name has its own prices
    const home = Object.hasOwn(builtInProviders, name) ? builtInProviders[name]?.baseUrl : undefined
    if (baseUrl !== undefined && (home === undefined || !isSameHost(baseUrl, home))) return undefined
    return providers.find(({ id }) => id === listNameOf(name))
  }

  /** The price in the table of models; a date at the end of a name is a version of the same model. */
  function tabledPrice({ id }: PriceProvider, model: string): ListedPrice | undefined {
    const provider = Object.keys(builtInProviders).find((name) => listNameOf(name) === id)
    const names = [model, model.replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, '')].map((name) => `${provider ?? id}::${name}`)
    const found = names.find((name) => Object.hasOwn(table, name))
    return found === undefined ? undefined : table[found]
  }

  return (model, usage) => {
    const listed = providerOf(model)
    if (listed === undefined) return undefined
    const name = model.model.toLowerCase()
    const isListed =
      isPackageNewer && listed.models.some(({ id, prices }) => id.toLowerCase() === name && hasPrice(prices))
    const tabled = isListed ? undefined : tabledPrice(listed, name)
    const provider = tabled === undefined ? listed : { ...listed, models: [modelInfo(model.model, tabled)] }
    try {
      const found = calcPrice(listUsage(usage), model.model, { provider, timestamp: now() })
      return found !== null && isPriced(found) ? found : undefined
    } catch {
      // an answer must not be lost because its price cannot be calculated
      return undefined
    }
  }
}

/** A price of the table in the form of the package, which calculates with both. */
function modelInfo(id: string, { window, long, later, peak, ...rates }: ListedPrice): ModelInfo {
  const rows = [
    { prices: modelPrice(rates, long) },
    ...(later === undefined
      ? []
      : [{ constraint: { type: 'start_date', start_date: later.from } as const, prices: modelPrice(later) }]),
    ...(peak?.hours ?? []).map((span) => {
      const [start = '', end = ''] = span.split('-').map((time) => `${time}:00Z`)
      const constraint = { type: 'time_of_date', start_time: start, end_time: end } as const
      return { constraint, prices: peak === undefined ? {} : modelPrice(peak) }
    }),
  ]
  return { id, match: { contains: '' }, context_window: window, prices: rows }
}

function modelPrice(rates: Rates, long?: ListedPrice['long']): ModelPrice {
  const price = (name: keyof Rates): ModelPrice[string] => {
    return long === undefined ? rates[name] : { base: rates[name], tiers: [{ start: long.above, price: long[name] }] }
  }
  return {
    input_mtok: price('input'),
    cache_read_mtok: price('cached'),
    cache_write_mtok: price('cacheWrite'),
    output_mtok: price('output'),
  }
}

/** The list contains models without a price, and calculates 0 for them. Only those marked as free are free. */
function isPriced({ model, model_price: prices }: PriceCalculation): boolean {
  return model.id.endsWith(':free') || hasPrice(prices)
}

function hasPrice(prices: ModelInfo['prices']): boolean {
  const rows = Array.isArray(prices) ? prices.map((row) => row.prices) : [prices]
  return rows.some((row) => row['input_mtok'] !== undefined && row['output_mtok'] !== undefined)
}

/** Cached and cache-written tokens are part of the input, and reasoning of the output, so they are capped by it. */
function listUsage(usage: Usage): { readonly [unit: string]: number } {
  const input = count(usage.input)
  const output = count(usage.output)
  const cached = Math.min(count(usage.cached), input)
  return {
    input_tokens: input,
    cache_read_tokens: cached,
    cache_write_tokens: Math.min(count(usage.cache_write), input - cached),
    output_tokens: output,
    output_reasoning_tokens: Math.min(count(usage.reasoning), output),
  }
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? tokens : 0
}

/** An input may be longer than estimated, so a higher tier is assumed somewhat below its threshold. */
const margin = 1.25

function rate(price: PriceCalculation['model_price'][string], inputTokens: number): number {
  if (price === undefined) return 0
  if (typeof price === 'number') return price
  const reached = price.tiers.filter(({ start }) => inputTokens * margin > start)
  return Math.max(price.base, ...reached.map((tier) => tier.price))
}
