import { expect, it } from 'vitest'
import type { Entry } from '../../src/journal/record.ts'
import { costBelow } from '../../src/journal/paid-calls.ts'
import { spentOf } from '../helpers/effects.ts'
import { begin, done, ended, failed, failure, indexOf, started } from './fixtures/records.ts'

const estimate = { tokens: 10, usd: 0.25, output: { tokens: 6, usdPerToken: 0.125, least: 1 } }
const most = { calls: 1, tokens: 16, usd: 1 }
const open = (p: string): Entry => started(p, { estimate })
const good = (p: string, s: number, cost?: object): Entry => ({ ...ended(p, s), ...(cost && { cost }) }) as Entry

async function spent(...epochs: readonly (readonly Entry[])[]): Promise<unknown> {
  return costBelow(await indexOf(epochs))
}

it('counts the cost of calls, also in boundaries that are finished or restarted', async () => {
  const cost = { calls: 2, tokens: 5, usd: 0.5 }
  const records = [begin('a'), open('a/model'), good('a/model', 2, cost), done('a')]
  expect(await spent(records)).toEqual(cost)
  expect(await spent(records, [begin('a')])).toEqual(cost)
})

it('counts the estimate of a call with an unknown end, also if it was repeated or its boundary restarted', async () => {
  expect(await spent([open('a')])).toEqual(most)
  expect(await spent([open('a')], [open('a'), good('a', 1, { calls: 1, tokens: 1, usd: 1 })])).toEqual({
    calls: 2,
    tokens: 17,
    usd: 2,
  })
  expect(await spent([begin('a'), open('a/model')], [begin('a')])).toEqual(most)
})

it('counts the actual cost of a failed call, and estimates what is unknown', async () => {
  const cancelled = (cost: object): Entry =>
    ({ k: 'ended', p: 'a', s: 1, kind: 'model', status: 'cancelled', error: failure, ...cost }) as Entry
  expect(await spent([open('a'), cancelled({})])).toEqual(most)
  expect(await spent([open('a'), failed('a', 1)])).toEqual(most)
  expect(await spent([open('a'), cancelled({ cost: { calls: 3, tokens: 2 } })])).toEqual({
    calls: 3,
    tokens: 2,
    usd: 1,
  })
  expect(await spent([open('a'), cancelled({ cost: { calls: 1, tokens: 0, usd: 0 } })])).toEqual({
    calls: 1,
    tokens: 0,
    usd: 0,
  })
})

it('counts no other effects, whatever their values look like', async () => {
  const http = { kind: 'http', estimate } as const
  const answer = { k: 'ended', p: 'a', s: 1, kind: 'http', status: 'ok', value: { kind: 'model' } } as const
  expect(await spent([started('a', http), answer, started('b', http)])).toEqual({ calls: 0, tokens: 0, usd: 0 })
})

it('returns the calls in the order of their ends, with the usage of each attempt, then those without an end', async () => {
  const used = (...models: readonly string[]): object => ({ spent: models.map((model) => spentOf({ model })) })
  const index = await indexOf([
    [
      open('a'),
      open('b'),
      { ...good('b', 2), ...used('p::two') },
      { ...good('a', 1), ...used('p::one', 'p::again') },
      good('c', 9),
      open('d'),
    ],
  ])
  const calls = [...index.modelCalls()].map(({ place, spent: each }) => [place, ...each.map(({ model }) => model)])
  expect(calls).toEqual([['b', 'p::two'], ['a', 'p::one', 'p::again'], ['c'], ['d']])
})
