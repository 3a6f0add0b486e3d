import type { BudgetLimits, Cost, LeaseTerms } from '../event/effects.ts'
import { originOf, type Place, placeText } from '../event/place.ts'
import { type Budget, createBudget, type RunBudget } from './budget.ts'
import { lend } from './budget-lease.ts'

/** The budget of a run, and those of the prompt files that agents of it are: a call reserves in all that are around it. */
export interface PlacedBudgets extends Budget {
  /**
   * Limits what calls at and below a place may cost together. `before`: what they cost in older epochs. For the run, or
   * one of its rounds, it lowers what holds from now on; the limits the run began with hold as well.
   */
  readonly limit: (at: Place, limits: BudgetLimits, before?: Required<Cost>) => void
  /** Lends what is at and below a place a part of the budget around it; what is returned ends that. */
  readonly lease: (at: Place, terms: LeaseTerms, before?: Required<Cost>) => () => void
  /** Whether a limit in dollars holds somewhere: then calls need a price. */
  readonly limitsCost: () => boolean
}

export function createPlacedBudgets(run: RunBudget, { usd }: Pick<BudgetLimits, 'usd'>): PlacedBudgets {
  const placed = new Map<string, RunBudget>()
  let current = run
  let limitsCost = usd !== undefined

  /** The innermost one. */
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
 * Gives each run of a session its budget. What earlier ones have spent counts, whatever their limits were, so that a
 * limit covers the session; a limit that has been raised lets it continue.
 */
export function createSessionBudget(): (limits: BudgetLimits) => RunBudget {
  let last: RunBudget | undefined
  return (limits) => (last = createBudget(limits, undefined, last?.spent()))
}
