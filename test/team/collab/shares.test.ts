import { expect, it } from 'vitest'
import { createTeamBudget } from '../../../src/team/collab/open.ts'
import type { Spent } from '../../../src/event/meter.ts'

function spent(calls: number, tokens: number, costUsd: number | null = null): Spent {
  return { model: 'm', usage: { calls, input: tokens, output: 0, cached: 0, reasoning: 0 }, costUsd }
}

const unpriced = 'deny' as const

it('without a budget nothing limits an agent', () => {
  const budget = createTeamBudget(undefined)
  expect(budget.lend('a', 3)).toBeUndefined()
  budget.settle('a', spent(5, 100))
  expect(budget.lend('b', 1)).toBeUndefined()
})

it('agents that start together get equal shares, and unset limits stay unlimited', () => {
  const budget = createTeamBudget({ tokens: 90, calls: 7 })
  expect(['a', 'b', 'c'].map((agent) => budget.lend(agent, 3))).toEqual([
    { tokens: 30, calls: 2, unpriced },
    { tokens: 30, calls: 2, unpriced },
    { tokens: 30, calls: 3, unpriced },
  ])
  // everything is lent: a fourth agent does not wait and gets nothing
  expect(budget.lend('d', 3)).toEqual({ tokens: 0, calls: 0, unpriced })
})

it('unused budget of an agent is returned, used budget is not', () => {
  const budget = createTeamBudget({ tokens: 100, usd: 1, unpriced: 'allow' })
  expect(budget.lend('a', 2)).toEqual({ tokens: 50, usd: 0.5, unpriced: 'allow' })
  budget.settle('a', spent(1, 20, 0.25))
  expect(budget.lend('b', 1)).toEqual({ tokens: 80, usd: 0.75, unpriced: 'allow' })
})

it('the whole share of an agent is returned if it has no end', () => {
  const budget = createTeamBudget({ calls: 4 })
  budget.lend('a', 1)
  budget.release('a')
  expect(budget.lend('a', 1)).toEqual({ calls: 4, unpriced })
})

it('usage of an older process counts, and the shares never exceed the whole', () => {
  const budget = createTeamBudget({ calls: 4 })
  budget.settle('a', spent(6, 0))
  expect(budget.lend('b', 1)).toEqual({ calls: 0, unpriced })
})

it('an agent that is started by another one divides its share, and is counted once', () => {
  const budget = createTeamBudget({ calls: 10 })
  expect(budget.lend('a', 1)).toEqual({ calls: 10, unpriced })
  expect(budget.lend('below', 2, 'a')).toBeUndefined()
  expect(budget.lend('further below', 3, 'below')).toBeUndefined()
  budget.settle('further below', spent(1, 0))
  budget.settle('below', spent(2, 0))
  budget.settle('a', spent(3, 0))
  expect(budget.lend('b', 1)).toEqual({ calls: 4, unpriced })
})
