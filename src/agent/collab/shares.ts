import type { TeamBudget } from '../../event/collab.ts'
import type { BudgetLimits } from '../../event/effects.ts'

const measures = ['calls', 'tokens', 'usd'] as const
type Amounts = { readonly [M in (typeof measures)[number]]: number }

const nothing: Amounts = { calls: 0, tokens: 0, usd: 0 }

export function createTeamBudget(budget: Partial<BudgetLimits> | undefined): TeamBudget {
  let spent = nothing
  const lent = new Map<string, Partial<Amounts>>()

  function held(measure: keyof Amounts): number {
    return [...lent.values()].reduce((sum, one) => sum + (one[measure] ?? 0), 0)
  }

  return {
    lend(piece, among, parent = '') {
      if (budget === undefined) return undefined
      if (lent.has(parent)) {
        // uses the share of its parent, and so do the agents that it starts in turn
        lent.set(piece, {})
        return undefined
      }
      // agents that hold a share are counted, but what they hold is set aside
      const others = Math.max(1, among - lent.size)
      const limits = measures.flatMap((measure) => {
        const limit = budget[measure]
        if (limit === undefined) return []
        const left = Math.max(0, limit - spent[measure] - held(measure))
        return [[measure, measure === 'usd' ? left / others : Math.floor(left / others)] as const]
      })
      const share = Object.fromEntries(limits) as Partial<Amounts>
      lent.set(piece, share)
      return { ...share, unpriced: budget.unpriced ?? 'deny' }
    },
    settle(piece, { usage, costUsd }) {
      lent.delete(piece)
      spent = {
        calls: spent.calls + usage.calls,
        tokens: spent.tokens + usage.input + usage.output,
        usd: spent.usd + (costUsd ?? 0),
      }
    },
    release: (piece) => void lent.delete(piece),
  }
}
