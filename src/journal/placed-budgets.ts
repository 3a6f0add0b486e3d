import type { BudgetLimits, Cost, LeaseTerms } from '../event/effects.ts'
import { originOf, type Place, placeText } from '../event/place.ts'
import { type Budget, createBudget, type RunBudget } from './budget.ts'
import { lend } from './budget-lease.ts'

/** The budget of a run, and those of prompt files that run as its agents: a call reserves in all budgets around it. */
export interface PlacedBudgets extends Budget {
  /**
   * Limits the total cost of calls at and below a place. `before`: their cost in older epochs. For the run, or one of
   * its rounds, it lowers the limit from now on; the initial limits of the run still apply.
   */
  readonly limit: (at: Place, limits: BudgetLimits, before?: Required<Cost>) => void
  /**
   * Lends a part of the surrounding budget to everything at and below a place; call the returned function to end that.
   */
  readonly lease: (at: Place, terms: LeaseTerms, before?: Required<Cost>) => () => void
  /** Whether a limit in dollars applies anywhere: then calls need a price. */
  readonly limitsCost: () => boolean
}

export function createPlacedBudgets(run: RunBudget, { usd }: Pick<BudgetLimits, 'usd'>): PlacedBudgets {
  const placed = new Map<string, RunBudget>()
  let current = run
  let limitsCost = usd !== undefined

  /** The innermost budget around a place. */
  function around(at: Place): RunBudget {
    if (placed.size === 0) return current
    const origin = originOf(at)
    for (let length = origin.length; length > 0; length -= 1) {
      const budget = placed.get(placeText(origin.slice(0, length)))
      if (budget !== undefined) return budget
    }
    return current
  }

  return {
    reserve: (effect, context) => around(context.at).reserve(effect, context),
    limit(at, limits, before) {
      if (at.every(({ kind }) => kind === 'redo')) current = createBudget(limits, run)
      else placed.set(placeText(originOf(at)), createBudget(limits, around(at), before))
      limitsCost ||= limits.usd !== undefined
    },
    lease(at, terms, before) {
      const key = placeText(originOf(at))
      const lease = lend(around(at), terms, before)
      placed.set(key, lease)
      limitsCost ||= terms.limits?.usd !== undefined
      return () => {
        lease.end()
        if (placed.get(key) === lease) placed.delete(key)
      }
    },
    limitsCost: () => limitsCost,
  }
}

/**
 * Gives each run of a session its budget. What earlier runs spent counts, whatever their limits were, so that a limit
 * covers the session; raising the limit lets the session continue.
 */
export function createSessionBudget(): (limits: BudgetLimits) => RunBudget {
  let last: RunBudget | undefined
  return (limits) => (last = createBudget(limits, undefined, last?.spent()))
}
