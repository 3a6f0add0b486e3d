import { describe, expect, it } from 'vitest'
import { createBudget, type RunBudget } from '../../src/journal/budget.ts'
import type { BudgetLimits, Estimate } from '../../src/event/effects.ts'
import { type AnyEffect, placeAt, effectOf } from '../helpers/effects.ts'

const quiet = { at: placeAt('a'), signal: new AbortController().signal }

function call(estimate: Estimate): AnyEffect {
  return effectOf({ kind: 'model', request: { provider: 'openai::m' }, repeat: 'safe', estimate })
}

function budget(limits: Omit<BudgetLimits, 'unpriced'>, parent?: RunBudget): RunBudget {
  return createBudget({ ...limits, unpriced: 'deny' }, parent)
}

/** Input of `tokens`, output of at most `output` tokens. */
function asked(tokens: number, output: number, least = 1024): AnyEffect {
  return call({ tokens, output: { tokens: output, least } })
}

/** Lets everything continue that does not depend on a settled call. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

describe('the reservation of a call', () => {
  it('is its input and its whole output, which is granted as the output limit', async () => {
    const tokens = budget({ tokens: 20_000 })
    const { grant } = await tokens.reserve(asked(1000, 16_384), quiet)
    expect(grant).toEqual({ outputTokens: 16_384 })
    expect(tokens.left()).toEqual({ tokens: 2616 })
    expect(tokens.spent()).toEqual({ calls: 0, tokens: 0, usd: 0 })
  })

  it('has its output reduced to what is left', async () => {
    const tokens = budget({ tokens: 5000 })
    expect((await tokens.reserve(asked(1000, 16_384), quiet)).grant).toEqual({ outputTokens: 4000 })
    expect(tokens.left()).toEqual({ tokens: 0 })
  })

  it('is reduced by its price to what is left in dollars', async () => {
    const dollars = budget({ usd: 0.1 })
    const estimate = { tokens: 1000, usd: 0.01, output: { tokens: 16_384, usdPerToken: 15e-6, least: 1024 } }
    expect((await dollars.reserve(call(estimate), quiet)).grant).toEqual({ outputTokens: 6000 })
    expect(dollars.left()).toEqual({ usd: 0 })
  })

  it('may be below the minimum output if the call requests no more', async () => {
    expect((await budget({ tokens: 120 }).reserve(asked(100, 20), quiet)).grant).toEqual({ outputTokens: 20 })
  })

  it('is not reduced in its output by a limit of calls alone', async () => {
    const calls = budget({ calls: 2 })
    expect((await calls.reserve(asked(1000, 16_384), quiet)).grant).toEqual({})
    expect(calls.left()).toEqual({ calls: 1 })
  })

  it('is zero for effects that ask no model', async () => {
    const none = budget({ calls: 0, tokens: 0, usd: 0 })
    const { grant, settle } = await none.reserve({ ...asked(9, 9), kind: 'http' }, quiet)
    settle(undefined)
    expect([grant, none.spent()]).toEqual([{}, { calls: 0, tokens: 0, usd: 0 }])
  })
})

describe('settling', () => {
  it('returns the rest', async () => {
    const tokens = budget({ tokens: 20_000, calls: 5 })
    const { settle } = await tokens.reserve(asked(1000, 16_384), quiet)
    settle({ calls: 1, tokens: 1200, usd: 0.25 })
    expect(tokens.spent()).toEqual({ calls: 1, tokens: 1200, usd: 0.25 })
    expect(tokens.left()).toEqual({ tokens: 18_800, calls: 4 })
  })

  it('charges the estimate when the cost is unknown, separately for each part', async () => {
    const both = budget({ tokens: 20_000, usd: 1 })
    const estimate = { tokens: 1000, usd: 0.01, output: { tokens: 1000, usdPerToken: 1e-5, least: 1 } }
    ;(await both.reserve(call(estimate), quiet)).settle(undefined)
    expect(both.spent()).toEqual({ calls: 1, tokens: 2000, usd: 0.02 })
    ;(await both.reserve(call(estimate), quiet)).settle({ tokens: 7 })
    expect(both.spent()).toEqual({ calls: 2, tokens: 2007, usd: 0.04 })
  })

  it('adds ten thousand small prices without drifting', async () => {
    const dollars = budget({ usd: 1 })
    const estimate = { usd: 0.1, output: { tokens: 1, usdPerToken: 0.1, least: 1 } }
    for (let count = 0; count < 10_000; count += 1) (await dollars.reserve(call(estimate), quiet)).settle({ usd: 1e-5 })
    expect([dollars.spent().usd, dollars.left()]).toEqual([0.1, { usd: 0.9 }])
  })

  it('shows an overrun as spent, and has nothing left', async () => {
    const tokens = budget({ tokens: 100 })
    ;(await tokens.reserve(asked(50, 50), quiet)).settle({ tokens: 130 })
    expect([tokens.spent().tokens, tokens.left()]).toEqual([130, { tokens: 0 }])
    await expect(tokens.reserve(asked(1, 1), quiet)).rejects.toMatchObject({ code: 'BUDGET' })
  })

  it('leaves free models usable when the dollars are spent', async () => {
    const dollars = budget({ usd: 0.01 })
    ;(await dollars.reserve(call({ usd: 0.01 }), quiet)).settle({ usd: 0.02 })
    const free = call({ tokens: 5, usd: 0, output: { tokens: 2000, usdPerToken: 0, least: 1024 } })
    expect((await dollars.reserve(free, quiet)).grant).toEqual({ outputTokens: 2000 })
  })
})

describe('an exhausted budget', () => {
  it.each([
    [
      { calls: 1 },
      'the budget of 1 call does not allow a call of openai::m: 1 call spent so far, and it needs at least 1 call',
      'Raise calls in [budget].',
    ],
    [
      { tokens: 3000 },
      'the budget of 3,000 tokens does not allow a call of openai::m: 2,500 tokens spent so far, and it needs at least 1,524 tokens',
      'Raise tokens in [budget], or give the model fewer or smaller files.',
    ],
    [
      { usd: 0.5 },
      'the budget of $0.5 does not allow a call of openai::m: $0.49 spent so far, and it needs at least $0.02024',
      'Raise usd in [budget], use a cheaper model, or give it fewer or smaller files.',
    ],
  ])('refuses with its limit %j, the amount spent, and what to do', async (limits, message, hint) => {
    const used = budget(limits)
    const estimate = { tokens: 500, usd: 0.01, output: { tokens: 16_384, usdPerToken: 1e-5, least: 1024 } }
    ;(await used.reserve(call(estimate), quiet)).settle({ calls: 1, tokens: 2500, usd: 0.49 })
    await expect(used.reserve(call(estimate), quiet)).rejects.toMatchObject({ code: 'BUDGET', message, hint })
  })

  it('refuses a call without a known price under a limit in dollars, at once', async () => {
    const dollars = budget({ usd: 1 })
    const half = call({ tokens: 9, usd: 0.1, output: { tokens: 9, least: 9 } })
    for (const unpriced of [asked(9, 9), half, { ...asked(9, 9), estimate: undefined }]) {
      const { estimate, ...request } = unpriced
      const refused = dollars.reserve(estimate === undefined ? request : { ...request, estimate }, quiet)
      await expect(refused).rejects.toMatchObject({
        code: 'BUDGET',
        message: 'the price of openai::m is unknown, so the budget of $1 cannot be enforced',
      })
    }
  })

  it('allows calls without a known price, uncounted in dollars, if configured', async () => {
    const dollars = createBudget({ usd: 1, unpriced: 'allow' })
    ;(await dollars.reserve(asked(9, 9), quiet)).settle({ calls: 1, tokens: 12 })
    expect(dollars.spent()).toEqual({ calls: 1, tokens: 12, usd: 0 })
  })
})

describe('waiting', () => {
  it('lasts until a running call returns enough, first come, first served', async () => {
    const tokens = budget({ tokens: 10_000 })
    const order: string[] = []
    // leaves room for the small call, which must wait its turn anyway
    const first = await tokens.reserve(asked(1000, 4000), quiet)
    const large = tokens.reserve(asked(7000, 1024), quiet).then((started) => [order.push('large'), started] as const)
    const small = tokens.reserve(asked(10, 10), quiet).then((started) => [order.push('small'), started] as const)
    await rest()
    expect(order).toEqual([])
    first.settle({ tokens: 1900 })
    const [, started] = await large
    await rest()
    expect(order).toEqual(['large', 'small'])
    expect(started.grant).toEqual({ outputTokens: 1024 })
    ;(await small)[1].settle({ tokens: 5 })
  })

  it('ends with an error only when no call is running any more', async () => {
    const tokens = budget({ tokens: 10_000 })
    const running = await Promise.all([1, 2].map(() => tokens.reserve(asked(1000, 4000), quiet)))
    let refused: unknown
    const waiting = tokens.reserve(asked(9000, 1024), quiet).catch((error: unknown) => (refused = error))
    running[0]?.settle({ tokens: 1000 })
    await rest()
    expect(refused).toBeUndefined()
    running[1]?.settle({ tokens: 1000 })
    await waiting
    expect(refused).toMatchObject({ code: 'BUDGET' })
  })

  it('continues for the calls after a refused one', async () => {
    const tokens = budget({ tokens: 1000 })
    const running = await tokens.reserve(asked(500, 500), quiet)
    const tooLarge = tokens.reserve(asked(5000, 10), quiet)
    const fitting = tokens.reserve(asked(100, 10), quiet)
    running.settle({ tokens: 200 })
    await expect(tooLarge).rejects.toMatchObject({ code: 'BUDGET' })
    expect((await fitting).grant).toEqual({ outputTokens: 10 })
  })

  it('ends when the call is aborted, which lets the next ones continue', async () => {
    const tokens = budget({ tokens: 1000 })
    await tokens.reserve(asked(400, 100), quiet)
    const stop = new AbortController()
    const large = tokens.reserve(asked(700, 100), { at: [], signal: stop.signal })
    const small = tokens.reserve(asked(400, 100), quiet)
    const reason = new Error('stopped')
    stop.abort(reason)
    await expect(large).rejects.toBe(reason)
    expect((await small).grant).toEqual({ outputTokens: 100 })
    await expect(tokens.reserve(asked(1, 1), { at: [], signal: stop.signal })).rejects.toBe(reason)
    expect(tokens.left()).toEqual({ tokens: 0 })
  })
})

describe('a child budget', () => {
  it('reserves in its own budget and in that of its parent', async () => {
    const parent = budget({ tokens: 10_000, calls: 10 })
    const child = budget({ tokens: 3000 }, parent)
    const { grant, settle } = await child.reserve(asked(1000, 16_384), quiet)
    expect(grant).toEqual({ outputTokens: 2000 })
    expect([child.left(), parent.left()]).toEqual([
      { calls: 9, tokens: 0 },
      { calls: 9, tokens: 7000 },
    ])
    settle({ calls: 1, tokens: 1500, usd: 0.1 })
    expect([child.spent(), parent.spent()]).toEqual([
      { calls: 1, tokens: 1500, usd: 0.1 },
      { calls: 1, tokens: 1500, usd: 0.1 },
    ])
    expect([child.left(), parent.left()]).toEqual([
      { calls: 9, tokens: 1500 },
      { calls: 9, tokens: 8500 },
    ])
  })

  it('cannot have more than its parent has left', async () => {
    const parent = budget({ tokens: 2000 })
    expect((await budget({ tokens: 9000 }, parent).reserve(asked(500, 5000), quiet)).grant).toEqual({
      outputTokens: 1500,
    })
    expect((await budget({}, budget({ tokens: 9 })).reserve(asked(1, 1), quiet)).grant).toEqual({ outputTokens: 1 })
  })

  it('waits for its own calls without blocking its siblings', async () => {
    const parent = budget({ tokens: 100_000 })
    const [left, right] = [budget({ tokens: 2000 }, parent), budget({ tokens: 2000 }, parent)]
    const running = await left.reserve(asked(1000, 1000, 10), quiet)
    const waiting = left.reserve(asked(1000, 1000, 10), quiet)
    expect((await right.reserve(asked(1000, 1000, 10), quiet)).grant).toEqual({ outputTokens: 1000 })
    running.settle({ tokens: 500 })
    expect((await waiting).grant).toEqual({ outputTokens: 500 })
  })

  it('is refused by its own limit while its parent still has calls running', async () => {
    const parent = budget({ tokens: 100_000 })
    await parent.reserve(asked(1000, 1000), quiet)
    await expect(budget({ tokens: 10 }, parent).reserve(asked(1000, 1000), quiet)).rejects.toMatchObject({
      code: 'BUDGET',
      message: expect.stringContaining('the budget of 10 tokens') as string,
    })
  })

  it('follows the rule of its parent about calls without a price', async () => {
    const child = createBudget({ unpriced: 'allow' }, budget({ usd: 1 }))
    await expect(child.reserve(asked(1, 1), quiet)).rejects.toMatchObject({ code: 'BUDGET' })
  })
})
