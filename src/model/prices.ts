import type { calcPrice as CalcPrice, findProvider as FindProvider, PriceCalculation } from '@pydantic/genai-prices'
import type { Usage } from '../event/message.ts'
import { builtInProviders } from './builtin.ts'
import { isSameHost } from './choice.ts'
import { costByOwnPrice, type OwnPrice } from './own-price.ts'

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
}

/** US dollars for one token. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
}

/**
 * Loads the bundled prices; nothing is fetched. The list is large: load it only if a paid host is called. The provider
 * is found by the base URL, otherwise by its name, but only at its own host; `now` selects among prices that change
 * over time.
 */
export async function loadPrices({ now = () => new Date() }: { readonly now?: () => Date } = {}): Promise<PriceList> {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices')
  const lookUp = createLookUp({ calcPrice, findProvider }, now)

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
  }
}

const oneToken: Usage = { calls: 1, input: 1, output: 1, cached: 0, reasoning: 0 }

/** Providers that have a different name in the list. */
const listNames: { readonly [provider: string]: string } = { gemini: 'google', xai: 'x-ai', moonshot: 'moonshotai' }

function createLookUp(
  { calcPrice, findProvider }: { readonly calcPrice: typeof CalcPrice; readonly findProvider: typeof FindProvider },
  now: () => Date,
): (model: PricedModel, usage: Usage) => PriceCalculation | undefined {
  function providerId({ provider, baseUrl }: PricedModel): string | undefined {
    const byUrl = baseUrl === undefined ? undefined : findProvider({ providerApiUrl: baseUrl })
    if (byUrl !== undefined) return byUrl.id
    // a server at another address that uses a provider's name has its own prices
    const home = Object.hasOwn(builtInProviders, provider) ? builtInProviders[provider]?.baseUrl : undefined
    if (baseUrl !== undefined && (home === undefined || !isSameHost(baseUrl, home))) return undefined
    const id = Object.hasOwn(listNames, provider) ? listNames[provider] : provider
    // the list also matches names that merely contain a provider's name, which does not identify the provider
    return id !== undefined && findProvider({ providerId: id })?.id === id ? id : undefined
  }

  return (model, usage) => {
    const id = providerId(model)
    if (id === undefined) return undefined
    try {
      const found = calcPrice(listUsage(usage), model.model, { providerId: id, timestamp: now() })
      return found !== null && isPriced(found) ? found : undefined
    } catch {
      // an answer must not be lost because its price cannot be calculated
      return undefined
    }
  }
}

/** The list contains models without a price, and calculates 0 for them. Only those marked as free are free. */
function isPriced({ model, model_price: prices }: PriceCalculation): boolean {
  if (model.id.endsWith(':free')) return true
  return prices['input_mtok'] !== undefined && prices['output_mtok'] !== undefined
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
