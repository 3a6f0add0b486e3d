import { expect, it } from 'vitest'
import type { BudgetLimits, Estimate } from '../../src/event/effects.ts'
import { createBudget, type RunBudget } from '../../src/journal/budget.ts'
import { createPlacedBudgets, lend } from '../../src/journal/placed-budgets.ts'
import { type AnyEffect, effectOf, placeAt } from '../helpers/effects.ts'

const quiet = { at: placeAt('a'), signal: new AbortController().signal }

function call(estimate: Estimate): AnyEffect {
  return effectOf({ kind: 'model', request: { provider: 'openai::m' }, repeat: 'safe', estimate })
}

function budget(limits: Omit<BudgetLimits, 'unpriced'>): RunBudget {
  return createBudget({ ...limits, unpriced: 'deny' })
}

/** A call with this many tokens in total. */
const tokens = (count: number): AnyEffect => call({ tokens: count })

it('lends an equal share of the rest of each limited measure', async () => {
  const run = budget({ calls: 12, tokens: 9000 })
  ;(await run.reserve(tokens(1000), quiet)).settle({ calls: 1, tokens: 1000, usd: 0 })
  const lease = lend(run, { whom: 'agent "a"', among: 4 })
  expect(lease.left()).toEqual({ calls: 2, tokens: 2000 })
  expect(run.left()).toEqual({ calls: 9, tokens: 6000 })
})

it('lends one call if one is left, however many share', () => {
  const run = budget({ calls: 2 })
  expect(lend(run, { whom: 'a', among: 10 }).left()).toEqual({ calls: 1 })
})

it('lends what a definition requests, but no more than is left', () => {
  const run = budget({ tokens: 1000, usd: 1 })
  expect(lend(run, { whom: 'a', limits: { tokens: 300, usd: 0.25 }, among: 2 }).left()).toEqual({
    tokens: 300,
    usd: 0.25,
  })
  expect(lend(run, { whom: 'b', limits: { tokens: 5000 }, among: 2 }).left()).toEqual({ tokens: 700, usd: 0.375 })
  expect(run.left()).toEqual({ tokens: 0, usd: 0.375 })
})

it('limits only the borrower in measures that the lender does not limit', async () => {
  const run = budget({})
  const lease = lend(run, { whom: 'a', limits: { calls: 1 }, among: 2 })
  ;(await lease.reserve(tokens(5), quiet)).settle({ calls: 1, tokens: 5, usd: 0.5 })
  await expect(lease.reserve(tokens(5), quiet)).rejects.toThrow('lent to a')
  expect(run.spent()).toEqual({ calls: 1, tokens: 5, usd: 0.5 })
  await run.reserve(tokens(5), quiet)
})

it('an agent that uses up its share does not affect another one, and the refusal names it', async () => {
  const run = budget({ tokens: 3000 })
  const [greedy, modest] = [
    lend(run, { whom: 'agent "greedy"', among: 3 }),
    lend(run, { whom: 'agent "modest"', among: 2 }),
  ]
  ;(await greedy.reserve(tokens(1000), quiet)).settle({ tokens: 1000, calls: 1, usd: 0 })
  await expect(greedy.reserve(tokens(1), quiet)).rejects.toThrow(
    'the part of the budget lent to agent "greedy", 1,000 tokens, does not allow a call of openai::m: 1,000 tokens spent so far, and it needs at least 1 token',
  )
  expect(modest.left()).toEqual({ tokens: 1000 })
  await modest.reserve(tokens(1000), quiet)
  expect(run.spent().tokens).toBe(1000)
})

it('returns the unspent rest once, and the lender then serves waiting calls', async () => {
  const run = budget({ tokens: 1000 })
  const lease = lend(run, { whom: 'a', limits: { tokens: 900 }, among: 2 })
  ;(await lease.reserve(tokens(200), quiet)).settle({ tokens: 150, calls: 1, usd: 0 })
  expect(run.left()).toEqual({ tokens: 100 })
  const waiting = run.reserve(tokens(800), quiet)
  lease.end()
  lease.end()
  ;(await waiting).settle({ tokens: 800, calls: 1, usd: 0 })
  expect(run.left()).toEqual({ tokens: 50 })
})

it('charges the lender what a call cost beyond its share', async () => {
  const run = budget({ tokens: 1000 })
  const lease = lend(run, { whom: 'a', limits: { tokens: 100 }, among: 2 })
  ;(await lease.reserve(tokens(100), quiet)).settle({ tokens: 250, calls: 1, usd: 0 })
  lease.end()
  expect(run.spent().tokens).toBe(250)
  expect(run.left()).toEqual({ tokens: 750 })
})

it('a share can be divided further, and all parts are accounted for by the first lender', async () => {
  const run = budget({ tokens: 1000 })
  const outer = lend(run, { whom: 'outer', among: 2 })
  const inner = lend(outer, { whom: 'inner', among: 2 })
  expect(inner.left()).toEqual({ tokens: 250 })
  ;(await inner.reserve(tokens(200), quiet)).settle({ tokens: 200, calls: 1, usd: 0 })
  inner.end()
  expect([outer.left(), outer.spent().tokens, run.spent().tokens]).toEqual([{ tokens: 300 }, 200, 200])
  outer.end()
  expect(run.left()).toEqual({ tokens: 800 })
})

it('a share in dollars needs prices, as the whole budget does', async () => {
  const lease = lend(budget({ usd: 1 }), { whom: 'agent "a"', among: 2 })
  await expect(lease.reserve(tokens(10), quiet)).rejects.toThrow(
    'the price of openai::m is unknown, so the part of the budget lent to agent "a", $0.5, cannot be enforced',
  )
})

it('applies at and below its place, until it ends; what was spent there before counts', async () => {
  const run = budget({ tokens: 1000 })
  const budgets = createPlacedBudgets(run, {})
  const place = placeAt('child')
  const end = budgets.lease(place, { whom: 'a', limits: { tokens: 100 }, among: 2 }, { calls: 1, tokens: 70, usd: 0 })
  const below = { ...quiet, at: [...place, ...placeAt('deep')] }
  await expect(budgets.reserve(tokens(31), below)).rejects.toThrow('lent to a')
  ;(await budgets.reserve(tokens(30), below)).settle({ tokens: 10, calls: 1, usd: 0 })
  await expect(budgets.reserve(tokens(21), below)).rejects.toThrow('lent to a')
  end()
  await budgets.reserve(tokens(900), below)
})
