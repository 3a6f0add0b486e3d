import { describe, expect, it } from 'vitest'
import { costByOwnPrice, ownPrice } from '../../src/model/own-price.ts'
import { loadPrices } from '../../src/model/prices.ts'

const price = (input: number) => ({ input, output: 10 })
const usage = { calls: 1, input: 1_000_000, output: 500_000, cached: 400_000, reasoning: 0 }

describe('the price that the user gives a model', () => {
  const prices = { 'glm-5': price(1), 'glm-*': price(2), '*': price(3), 'gateway::glm-*': price(4), 'a.b': price(5) }

  it.each([
    ['glm-5', 1],
    ['glm-5.3', 4],
    ['vendor/glm', 3],
    ['a.b', 5],
    ['axb', 3],
  ])('is found by name, otherwise by the most specific glob: %s', (model, input) => {
    expect(ownPrice(prices, { model, label: `gateway::${model}` })).toEqual(price(input))
  })

  it('is unset if no name and no glob matches', () => {
    expect(ownPrice({ 'glm-*': price(1) }, { model: 'gpt', label: 'gateway::gpt' })).toBeUndefined()
    expect(ownPrice({}, { model: 'toString', label: 'toString' })).toBeUndefined()
  })

  it('uses its rate for cached input, otherwise the one for input', () => {
    expect(costByOwnPrice({ input: 1, output: 10 }, usage)).toBeCloseTo(6, 9)
    expect(costByOwnPrice({ input: 1, output: 10, cached: 0.1 }, usage)).toBeCloseTo(5.64, 9)
  })

  it('overrides the list, for a call and for an estimate', async () => {
    const list = await loadPrices()
    const model = { provider: 'openai', baseUrl: 'https://api.openai.com/v1', model: 'gpt-4o', isFree: false }
    const own = { ...model, own: { input: 1, output: 10 } }
    expect(list.costOf(own, usage)).toBeCloseTo(6, 9)
    expect(list.costOf(own, usage)).not.toBe(list.costOf(model, usage))
    expect(list.perToken(own)).toEqual({ input: 1e-6, output: 1e-5 })
  })
})
