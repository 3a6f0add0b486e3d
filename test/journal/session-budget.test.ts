import { expect, it } from 'vitest'
import { createSessionBudget } from '../../src/journal/placed-budgets.ts'
import { effectOf, placeAt } from '../helpers/effects.ts'

const quiet = { at: placeAt('a'), signal: new AbortController().signal }
const call = effectOf({ kind: 'model', repeat: 'safe', estimate: { tokens: 100, usd: 0.25 } })

it('includes what earlier runs of the session have spent', async () => {
  const open = createSessionBudget()
  const first = open({ calls: 2, usd: 1, unpriced: 'deny' })
  const { settle } = await first.reserve(call, quiet)
  settle({ calls: 1, tokens: 70, usd: 0.2 })
  const second = open({ calls: 2, usd: 1, unpriced: 'deny' })
  expect(second.spent()).toEqual({ calls: 1, tokens: 70, usd: 0.2 })
  expect(second.left()).toEqual({ calls: 1, usd: 0.8 })

  await second.reserve(call, quiet).then((reservation) => reservation.settle({ calls: 1, tokens: 70, usd: 0.2 }))
  await expect(open({ calls: 2, unpriced: 'deny' }).reserve(call, quiet)).rejects.toMatchObject({ code: 'BUDGET' })
  // raising a limit lets the session continue
  await expect(open({ calls: 3, unpriced: 'deny' }).reserve(call, quiet)).resolves.toHaveProperty('grant', {})
})
