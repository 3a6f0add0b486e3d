import { describe, expect, it } from 'vitest'
import { createBudget, type RunBudget } from '../../src/journal/budget.ts'
import type { BudgetLimits, Cost, Estimate } from '../../src/event/effects.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import { placeAt, type AnyEffect, effectOf, spentOf } from '../helpers/effects.ts'

function call(estimate: Estimate): AnyEffect {
  return effectOf({ kind: 'model', request: { provider: 'openai::m' }, repeat: 'safe', estimate })
}

function budget(limits: Omit<BudgetLimits, 'unpriced'>, parent?: RunBudget): RunBudget {
  return createBudget({ ...limits, unpriced: 'deny' }, parent)
}

describe('many concurrent calls', () => {
  /** Numbers from 0 to below 1 that are the same for the same seed. */
  function randomFrom(seed: number): () => number {
    let state = seed
    return () => {
      state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
      return state / 2 ** 32
    }
  }

  it.each(Array.from({ length: 25 }, (_, seed) => seed))(
    'never spend more than the budget, and all end (%i)',
    async (seed) => {
      const random = randomFrom(seed)
      const upTo = (most: number): number => Math.floor(random() * most)
      const limits = { tokens: 20_000 + upTo(80_000), usd: 0.05 + random(), calls: 20 + upTo(60) }
      const parent = budget(limits)
      const children = [parent, budget({ tokens: 15_000 }, parent), budget({ usd: 0.2 }, parent)]
      const seen = { granted: 0, refused: 0, aborted: 0 }

      async function one(): Promise<void> {
        const stop = new AbortController()
        const from = children[upTo(children.length)] ?? parent
        const price = random() * 3e-5
        const tokens = upTo(3000)
        const output = { tokens: 1 + upTo(16_384), usdPerToken: price, least: 1024 }
        const waiting = from.reserve(call({ tokens, usd: tokens * price, output }), { at: [], signal: stop.signal })
        if (random() < 0.2) queueMicrotask(() => stop.abort(new Error('stopped')))
        try {
          const { grant, settle } = await waiting
          seen.granted += 1
          const made = grant.outputTokens ?? Infinity
          expect(made).toBeGreaterThanOrEqual(Math.min(1024, output.tokens))
          expect(made).toBeLessThanOrEqual(output.tokens)
          for (let turn = upTo(20); turn > 0; turn -= 1) await Promise.resolve()
          const used = upTo(made + 1)
          const cost: Cost = { calls: 1, tokens: tokens + used, usd: (tokens + used) * price }
          settle(random() < 0.1 ? undefined : cost)
        } catch (error) {
          if (error === stop.signal.reason) seen.aborted += 1
          else {
            expect(error).toMatchObject({ code: 'BUDGET' })
            seen.refused += 1
          }
        }
        const spent = parent.spent()
        expect(spent.calls).toBeLessThanOrEqual(limits.calls)
        expect(spent.tokens).toBeLessThanOrEqual(limits.tokens)
        expect(Math.round(spent.usd * 1e9)).toBeLessThanOrEqual(Math.round(limits.usd * 1e9))
        expect(children[1]?.spent().tokens).toBeLessThanOrEqual(15_000)
        expect(children[2]?.spent().usd).toBeLessThanOrEqual(0.2)
      }

      const workers = Array.from({ length: 16 }, async () => {
        for (let count = 0; count < 12; count += 1) await one()
      })
      await Promise.all(workers)
      expect(seen.granted + seen.refused + seen.aborted).toBe(16 * 12)
      expect(seen.granted).toBeGreaterThan(0)
      const spent = parent.spent()
      expect(parent.left()).toMatchObject({ calls: limits.calls - spent.calls, tokens: limits.tokens - spent.tokens })
    },
  )
})

describe('effects under a budget', () => {
  const estimate = { tokens: 100, output: { tokens: 2000, least: 1024 } }

  it('get their output limit, and are charged their actual cost', async () => {
    const tokens = budget({ tokens: 1500 })
    const effects = createMemoryEffects({ budget: tokens })
    const effect = { ...call(estimate), costOf: () => spentOf({ input: 300 }) }
    const limit = await effects.perform(placeAt('a'), effect, async (_, { outputTokens }) => outputTokens)
    expect([limit, tokens.spent().tokens]).toEqual([1400, 300])
  })

  it('are charged the cost of a failure, or else their estimate', async () => {
    const tokens = budget({ tokens: 10_000 })
    const known = new Error('refused by the host')
    const effects = createMemoryEffects({ budget: tokens })
    const refused = effects.perform(placeAt('a'), call(estimate), async (_, { failed }) => {
      failed(spentOf({}))
      throw known
    })
    await expect(refused).rejects.toBe(known)
    expect(tokens.spent()).toEqual({ calls: 1, tokens: 0, usd: 0 })
    const cut = effects.perform(placeAt('b'), call(estimate), () => Promise.reject(new Error('cut')))
    await expect(cut).rejects.toThrow('cut')
    expect(tokens.spent().tokens).toBe(2100)
  })

  it('leave no record when the budget refuses them', async () => {
    const effects = createMemoryEffects({ budget: budget({ calls: 0 }) })
    await expect(effects.perform(placeAt('a'), call(estimate), async () => 1)).rejects.toMatchObject({ code: 'BUDGET' })
    expect(effects.records).toEqual([])
  })
})
