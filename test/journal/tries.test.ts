import { describe, expect, it } from 'vitest'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import { createBudget } from '../../src/journal/budget.ts'
import { placeAt, effectOf, spentOf } from '../helpers/effects.ts'

const estimate = { tokens: 100, output: { tokens: 500, least: 50 } }
const model = effectOf({ kind: 'model', request: { provider: 'p::m' }, repeat: 'safe', estimate })

describe('an effect with several attempts', () => {
  it('counts every attempt as a call, and is refused when no call is left', async () => {
    const budget = createBudget({ calls: 2, unpriced: 'deny' })
    const effects = createMemoryEffects({ budget })
    const tries: number[] = []
    const asked = effects.perform(placeAt('a'), model, async (_, granted) => {
      for (let attempt = 1; ; attempt += 1) {
        if (attempt > 1) await granted.again()
        tries.push(attempt)
        granted.failed(spentOf({}))
      }
    })
    await expect(asked).rejects.toMatchObject({ code: 'BUDGET' })
    expect(tries).toEqual([1, 2])
    expect(budget.spent()).toMatchObject({ calls: 2, tokens: 0 })
  })

  it('is granted the rest, is charged for each attempt, and records the sum', async () => {
    const budget = createBudget({ tokens: 1000, unpriced: 'deny' })
    const effects = createMemoryEffects({ budget })
    const counted = { ...model, costOf: () => spentOf({ input: 200 }) }
    const granted = await effects.perform(placeAt('a'), counted, async (_, first) => {
      first.failed(spentOf({ input: 400, output: 50 }))
      expect(budget.left()).toEqual({ tokens: 550 })
      return [first.outputTokens, (await first.again()).outputTokens]
    })
    expect(granted).toEqual([500, 450])
    expect(budget.spent()).toMatchObject({ calls: 2, tokens: 650 })
    const spent = [spentOf({ input: 400, output: 50 }), spentOf({ input: 200 })]
    expect(effects.records.at(-1)).toMatchObject({ k: 'ended', cost: { calls: 2, tokens: 650 }, spent })
  })

  it('counts a failed last attempt once', async () => {
    const budget = createBudget({ calls: 9, unpriced: 'deny' })
    const effects = createMemoryEffects({ budget })
    const asked = effects.perform(placeAt('a'), model, async (_, granted) => {
      granted.failed(spentOf({ input: 10 }))
      granted.failed(spentOf({ input: 10 }))
      throw new Error('no')
    })
    await expect(asked).rejects.toThrow('no')
    expect(budget.spent()).toMatchObject({ calls: 1, tokens: 10 })
  })
})
