import type { calcPrice as CalcPrice, findProvider as FindProvider, PriceCalculation } from '@pydantic/genai-prices'
import type { Usage } from '../event/message.ts'
import { builtInProviders } from './builtin.ts'
import { isSameHost } from './choice.ts'
import { costByOwnPrice, type OwnPrice } from './own-price.ts'

/** What a price is looked up by. */
export interface PricedModel {
  /** Name of the provider in the table or in the config. */
  readonly provider: string
  /** Root of its API; undefined when no host is called. */
  readonly baseUrl: string | undefined
  readonly model: string
  /** Nobody is paid: the offline model, and servers for models of one's own. */
  readonly isFree: boolean
  /** What the user says it costs, which goes before every list. */
  readonly own?: OwnPrice | undefined
}

export interface PriceList {
  /** US dollars of one call; undefined when the model has no known price, or the host did not count tokens. */
  costOf(model: PricedModel, usage: Usage): number | undefined
  /**
   * US dollars one token costs at most, for estimates; undefined when the model has no known price. Where long inputs
   * cost more, `inputTokens` says how long this one is; left out, the dearest rate holds.
   */
  perToken(model: PricedModel, inputTokens?: number): TokenPrices | undefined
}

/** US dollars for one token. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
}

/**
 * The prices that come with the product: nothing is fetched. The list is large; load it only when a host is called that
 * is paid. The provider is the one whose address the base URL is, else the one of that name at its own host; `now`
 * decides between prices that change with time.
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

/** Names of ours for which the list has others. */
const listNames: { readonly [provider: string]: string } = { gemini: 'google', xai: 'x-ai', moonshot: 'moonshotai' }

function createLookUp(
  { calcPrice, findProvider }: { readonly calcPrice: typeof CalcPrice; readonly findProvider: typeof FindProvider },
  now: () => Date,
): (model: PricedModel, usage: Usage) => PriceCalculation | undefined {
  function providerId({ provider, baseUrl }: PricedModel): string | undefined {
    const byUrl = baseUrl === undefined ? undefined : findProvider({ providerApiUrl: baseUrl })
    if (byUrl !== undefined) return byUrl.id
    // whoever answers elsewhere in the name of a provider has prices of its own
    const home = Object.hasOwn(builtInProviders, provider) ? builtInProviders[provider]?.baseUrl : undefined
    if (baseUrl !== undefined && (home === undefined || !isSameHost(baseUrl, home))) return undefined
    const id = Object.hasOwn(listNames, provider) ? listNames[provider] : provider
    // the list also takes names that only contain a provider's, which says nothing about who is paid
    return id !== undefined && findProvider({ providerId: id })?.id === id ? id : undefined
  }

  return (model, usage) => {
    const id = providerId(model)
    if (id === undefined) return undefined
    try {
      const found = calcPrice(listUsage(usage), model.model, { providerId: id, timestamp: now() })
      return found !== null && isPriced(found) ? found : undefined
    } catch {
      // an answer that was paid for is not lost because its price cannot be told
      return undefined
    }
  }
}

/** The list holds models without any price, and calculates 0 for them. Only those it calls free are. */
function isPriced({ model, model_price: prices }: PriceCalculation): boolean {
  if (model.id.endsWith(':free')) return true
  return prices['input_mtok'] !== undefined && prices['output_mtok'] !== undefined
}

/** Cached and written tokens are parts of the input, reasoning is a part of the output: no part is larger than it. */
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

/** An input may be longer than estimated: it counts as long from a little below the mark on. */
const margin = 1.25

function rate(price: PriceCalculation['model_price'][string], inputTokens: number): number {
  if (price === undefined) return 0
  if (typeof price === 'number') return price
  const reached = price.tiers.filter(({ start }) => inputTokens * margin > start)
  return Math.max(price.base, ...reached.map((tier) => tier.price))
}
