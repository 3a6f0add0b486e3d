import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForUpdate } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { loadPrices } from '../../src/model/prices.ts'
import { bundledPrices } from '../../src/model/price-package.ts'
import {
  readUpdatedPrices,
  tableOfPrices,
  type UpdatedPrices,
  updatedPricesText,
} from '../../src/model/updated-prices.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const data = JSON.parse(JSON.stringify(await waitForUpdate())) as Json
const providers = tableOfPrices(data) ?? []

function written(content: Partial<UpdatedPrices>): string {
  const text = updatedPricesText({ version: '99.0.0', published: '2031-01-01', providers, ...content })
  return join(tempTree({ 'prices.json': text }), 'prices.json')
}

describe('the package of prices', () => {
  it('that comes with Baton has the version that is named', () => {
    const manifest = readFileSync(join(root, 'node_modules', bundledPrices.name, 'package.json'), 'utf8')
    expect(JSON.parse(manifest)).toMatchObject({ version: bundledPrices.version })
  })

  it('is understood as a whole', () => {
    expect(providers.length).toBe((data as readonly Json[]).length)
  })

  it.each<[string, Json]>([
    ['no list', {}],
    ['without the large vendors', [{ id: 'openai', api_pattern: 'x', models: [] }]],
    ['a pattern that is none', changed({ api_pattern: '(' })],
    ['a price below zero', changed({ models: [{ id: 'm', match: { equals: 'm' }, prices: { input_mtok: -1 } }] })],
    ['an unknown way to recognize a model', changed({ models: [{ id: 'm', match: { like: 'm' }, prices: {} }] })],
    [
      'tiers without a start',
      changed({ models: [{ id: 'm', match: { equals: 'm' }, prices: { a: { base: 1, tiers: [{}] } } }] }),
    ],
  ])('is refused: %s', (_, table) => expect(tableOfPrices(table)).toBeUndefined())
})

function changed(change: { readonly [key: string]: Json }): Json {
  const [first, ...others] = data as readonly { readonly [key: string]: Json }[]
  return [{ ...first, ...change }, ...others]
}

describe('a newer table', () => {
  it('is used if it is newer than the one that comes with Baton', () => {
    expect(readUpdatedPrices(written({}))).toEqual({ version: '99.0.0', published: '2031-01-01', providers })
    expect(readUpdatedPrices(written({ version: bundledPrices.version }))).toBeUndefined()
    expect(readUpdatedPrices(written({ version: '0.0.1' }))).toBeUndefined()
    expect(readUpdatedPrices('/nowhere/prices.json')).toBeUndefined()
    for (const text of ['', '[]', '{', '{"version":"99.0.0","providers":[]}']) {
      expect(readUpdatedPrices(join(tempTree({ 'prices.json': text }), 'prices.json')), text).toBeUndefined()
    }
  })

  it('gives the same costs as the package with the same data', async () => {
    const [updated, bundled] = await Promise.all([loadPrices({ updatedFile: written({}) }), loadPrices()])
    const usage = { calls: 1, input: 300_000, output: 1000, cached: 100_000, reasoning: 0 }
    for (const model of ['gpt-6-sol', 'gpt-5-mini']) {
      const priced = { provider: 'openai', baseUrl: 'https://api.openai.com/v1', model, isFree: false }
      expect(updated.costOf(priced, usage)).toBe(bundled.costOf(priced, usage))
    }
    expect(updated.source).toMatchObject({ version: '99.0.0', updated: true })
  })

  it('goes before the table of models for exact names, if it was published after that was checked', async () => {
    const tableFile = join(root, 'agents/models.toml')
    const own = {
      id: 'claude-haiku-5-5',
      match: { equals: 'claude-haiku-5-5' },
      prices: { input_mtok: 3, output_mtok: 4 },
    }
    const with55 = providers.map((one) => (one.id === 'anthropic' ? { ...one, models: [own, ...one.models] } : one))
    const [newer, older, unknown] = await Promise.all(
      ['2031-01-01', '2026-10-01', undefined].map(async (published) =>
        loadPrices({ tableFile, updatedFile: written({ published, providers: with55 }) }),
      ),
    )
    const haiku = { provider: 'anthropic', baseUrl: undefined, model: 'claude-haiku-5-5', isFree: false }
    expect(newer?.rates(haiku)).toMatchObject({ input: 3, output: 4 })
    for (const list of [older, unknown]) expect(list?.rates(haiku)).toMatchObject({ input: 0.1, output: 0.5 })
    // the package knows this one only as another model
    expect(newer?.rates({ ...haiku, model: 'claude-sonnet-5-5' })).toMatchObject({ cached: 0.1 })
  })
})
