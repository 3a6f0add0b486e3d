import { join } from 'node:path'
import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import type { Usage } from '../../src/event/message.ts'
import { builtInProviders } from '../../src/model/builtin.ts'
import { loadPrices, type PricedModel, type PriceList } from '../../src/model/prices.ts'
import { root } from '../helpers/baton.ts'

const now = (): Date => new Date('2026-10-01T12:00:00Z')
const prices = await loadPrices({ now })

const tableFile = join(root, 'agents/models.toml')
const at = async (time: string): Promise<PriceList> => loadPrices({ tableFile, now: () => new Date(time) })
const tabled = await at('2026-11-29T12:00:00Z')

/** At the provider's own address unless one is given. */
function priced(
  provider: string,
  model: string,
  baseUrl = builtInProviders[provider]?.baseUrl ?? 'http://127.0.0.1:9/v1',
): PricedModel {
  return { provider, model, baseUrl, isFree: false }
}

function usage(input: number, output: number, parts: Partial<Usage> = {}): Usage {
  return { calls: 1, input, output, cached: 0, reasoning: 0, ...parts }
}

/** Dollars per million tokens from the list, for our own calculations. */
function listed(providerId: string, model: string): (name: string) => number {
  const found = calcPrice({ input_tokens: 1 }, model, { providerId, timestamp: now() })
  return (name) => {
    const rate = found?.model_price[name]
    if (typeof rate !== 'number') throw new Error(`${model} has no single ${name}`)
    return rate
  }
}

describe('costOf', () => {
  it.each([
    ['openai', 'https://api.openai.com/v1', 'gpt-5-mini', 'openai'],
    ['anthropic', 'https://api.anthropic.com/v1', 'claude-sonnet-4-6', 'anthropic'],
    ['gemini', 'https://generativelanguage.googleapis.com/v1beta', 'gemini-2.5-flash', 'google'],
    ['groq', 'https://api.groq.com/openai/v1', 'openai/gpt-oss-120b', 'groq'],
    ['deepseek', 'https://api.deepseek.com', 'deepseek-chat', 'deepseek'],
    ['xai', 'https://api.x.ai/v1', 'grok-3', 'x-ai'],
    ['mistral', 'https://api.mistral.ai/v1', 'mistral-large-latest', 'mistral'],
    ['openrouter', 'https://openrouter.ai/api/v1', 'openai/gpt-5-mini', 'openrouter'],
  ])('multiplies the tokens of %s (%s) with the rates of the list', (provider, baseUrl, model, id) => {
    const rate = listed(id, model)
    const expected = (1000 * rate('input_mtok') + 500 * rate('output_mtok')) / 1e6
    expect(expected).toBeGreaterThan(0)
    expect(prices.costOf(priced(provider, model, baseUrl), usage(1000, 500))).toBeCloseTo(expected, 12)
  })

  it('is 0.00125 dollars for 1000 tokens to gpt-5-mini and 500 back', () => {
    expect(prices.costOf(priced('openai', 'gpt-5-mini'), usage(1000, 500))).toBeCloseTo(0.00125, 12)
  })

  it('counts cached tokens and cache writes as parts of the input, at their own rates', () => {
    const rate = listed('anthropic', 'claude-sonnet-4-6')
    const dollars =
      100 * rate('input_mtok') +
      700 * rate('cache_read_mtok') +
      200 * rate('cache_write_mtok') +
      50 * rate('output_mtok')
    const cost = prices.costOf(
      priced('anthropic', 'claude-sonnet-4-6'),
      usage(1000, 50, { cached: 700, cache_write: 200 }),
    )
    expect(cost).toBeCloseTo(dollars / 1e6, 12)
  })

  it('counts reasoning as a part of the output, not additionally', () => {
    const model = priced('openai', 'gpt-5-mini')
    expect(prices.costOf(model, usage(1000, 500, { reasoning: 400 }))).toBe(prices.costOf(model, usage(1000, 500)))
  })

  it('uses the rate for long inputs above its threshold', () => {
    const model = priced('gemini', 'gemini-2.5-pro')
    const [short = 0, long = 0] = [200_000, 200_001].map((input) => prices.costOf(model, usage(input, 0)))
    expect(long).toBeGreaterThan(short * 1.9)
  })

  it('uses the price of the day and the hour', async () => {
    const model = priced('deepseek', 'deepseek-chat')
    const atNight = await loadPrices({ now: () => new Date('2026-10-01T20:00:00Z') })
    const byDay = prices.costOf(model, usage(1000, 500)) ?? 0
    expect(atNight.costOf(model, usage(1000, 500))).toBeCloseTo(byDay / 2, 12)
  })

  it('takes a price of the table of models before that of the package, and for dated names too', () => {
    const model = priced('anthropic', 'claude-sonnet-5-5')
    const cached = usage(1e6, 0, { cached: 1e6 })
    expect(prices.costOf(model, cached)).toBeCloseTo(0.2, 12)
    expect(tabled.costOf(model, cached)).toBeCloseTo(0.1, 12)
    expect(tabled.costOf(priced('anthropic', 'claude-sonnet-5-5-20260928'), cached)).toBeCloseTo(0.1, 12)
    expect(tabled.costOf(priced('openai', 'gpt-6.2-sol'), usage(1000, 0, { cache_write: 1000 }))).toBeCloseTo(
      0.0025,
      12,
    )
    expect(prices.costOf(priced('openai', 'gpt-6.2-sol'), usage(1000, 500))).toBeUndefined()
  })

  it('takes a price of the table at the own address of a provider only, whatever its name in the config', () => {
    const elsewhere = priced('openai', 'gpt-6.2-sol', 'http://127.0.0.1:9/v1')
    expect(tabled.costOf(elsewhere, usage(1000, 500))).toBeUndefined()
    const named = priced('work', 'gpt-6.2-sol', 'https://api.openai.com/v1')
    expect(tabled.costOf(named, usage(1000, 500))).toBeCloseTo(0.007, 12)
  })

  it('takes rates of the table for long inputs, from a day on, and in the hours in which they are higher', async () => {
    const haiku = priced('anthropic', 'claude-haiku-5-5')
    expect(tabled.costOf(haiku, usage(100_000, 0))).toBeCloseTo(0.01, 12)
    expect(tabled.costOf(haiku, usage(100_001, 1000))).toBeCloseTo(0.0525005, 12)
    const [carbon, flash] = [priced('gemini', 'gemini-4-carbon'), priced('deepseek', 'deepseek-flash')]
    const [before, after] = await Promise.all([at('2026-11-30T23:59:59Z'), at('2026-12-01T02:00:00Z')])
    expect(before.rates(carbon)).toEqual({ input: 2, cached: 0.1, output: 10 })
    expect(after.rates(carbon)).toEqual({ input: 4, cached: 0.2, output: 20 })
    expect(before.rates(flash)).toEqual({ input: 0.15, cached: 0.003, output: 0.6 })
    expect(after.rates(flash)).toEqual({ input: 0.3, cached: 0.006, output: 1.2 })
  })

  it('looks up the provider by the base URL first, then by its name', () => {
    const atRouter = prices.costOf(
      priced('openai', 'openai/gpt-5-mini', 'https://openrouter.ai/api/v1'),
      usage(1000, 0),
    )
    expect(atRouter).toBe(prices.costOf(priced('openrouter', 'openai/gpt-5-mini'), usage(1000, 0)))
    expect(atRouter).toBeGreaterThan(0)
    expect(prices.costOf(priced('openai', 'openai/gpt-5-mini'), usage(1000, 0))).toBeUndefined()
  })

  it.each([
    ['a model nobody knows', priced('openai', 'no-such-model')],
    ['a gateway at an unknown address', priced('gateway', 'gpt-5-mini')],
    ['another server in the place of a provider', priced('openai', 'gpt-5-mini', 'http://127.0.0.1:9/v1')],
    ['a provider whose name only contains a known one', priced('my-openai-lab', 'gpt-5-mini')],
    ['a provider with a name of an object', priced('constructor', 'gpt-5-mini')],
    ['a model that is in the list without a price', priced('cerebras', 'qwen-3-coder-480b')],
    ['a model with a price for its input only', priced('openai', 'text-embedding-3-small')],
  ])('is unknown, and not 0, for %s', (_, model) => {
    expect(prices.costOf(model, usage(1000, 500))).toBeUndefined()
    expect(prices.perToken(model)).toBeUndefined()
  })

  it('is unknown when the host reported no tokens', () => {
    expect(prices.costOf(priced('openai', 'gpt-5-mini'), usage(0, 0))).toBeUndefined()
  })

  it('is 0 for self-hosted servers, and for models that the list marks as free', () => {
    const own = { ...priced('ollama', 'gpt-5-mini'), isFree: true }
    expect(prices.costOf(own, usage(1000, 500))).toBe(0)
    expect(prices.perToken(own)).toEqual({ input: 0, output: 0 })
    expect(prices.costOf(priced('openrouter', 'agentica-org/deepcoder-14b-preview:free'), usage(1000, 500))).toBe(0)
  })

  it('never throws for impossible counts', () => {
    const model = priced('anthropic', 'claude-sonnet-4-6')
    const all = usage(1000, 50, { cached: 5000, cache_write: 9000, reasoning: 80 })
    expect(prices.costOf(model, all)).toBe(prices.costOf(model, usage(1000, 50, { cached: 1000, reasoning: 50 })))
    expect(prices.costOf(model, usage(Number.NaN, 50, { cached: -1 }))).toBe(prices.costOf(model, usage(0, 50)))
  })
})

describe('perToken', () => {
  it('is the maximum price of a token: writing to a cache costs more than plain input', () => {
    const rate = listed('anthropic', 'claude-sonnet-4-6')
    const perToken = prices.perToken(priced('anthropic', 'claude-sonnet-4-6'))
    expect(rate('cache_write_mtok')).toBeGreaterThan(rate('input_mtok'))
    expect(perToken?.input).toBeCloseTo(rate('cache_write_mtok') / 1e6, 15)
    expect(perToken?.output).toBeCloseTo(rate('output_mtok') / 1e6, 15)
  })

  it('uses the rate for long inputs unless the input is known to be short', () => {
    const model = priced('gemini', 'gemini-2.5-pro')
    const [unknown, short, near, long] = [undefined, 1000, 190_000, 300_000].map(
      (tokens) => prices.perToken(model, tokens)?.input,
    )
    expect(short).toBeCloseTo((prices.costOf(model, usage(1000, 0)) ?? 0) / 1000, 15)
    expect(long).toBeCloseTo((prices.costOf(model, usage(300_000, 0)) ?? 0) / 300_000, 15)
    expect([unknown, near]).toEqual([long, long])
  })
})
