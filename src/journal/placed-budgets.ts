import { type Place, placeText } from '../event/effects.ts'
import type { Budget } from './budget.ts'
import { type BudgetLimits, createBudget, type RunBudget } from './run-budget.ts'

/** The budget of a run, and those of the prompt files that agents of it are: a call reserves in all that are around it. */
export interface PlacedBudgets extends Budget {
  /** Lowers the limits of the run from now on; those it began with hold as well. */
  readonly limitRun: (limits: BudgetLimits) => void
  /** Limits what calls at and below a place may cost together. `before`: what they did cost in older epochs. */
  readonly limitPlace: (at: Place, limits: BudgetLimits, before?: RunSpent) => void
  /** Whether a limit in dollars holds somewhere: then calls need a price. */
  readonly limitsCost: () => boolean
}

type RunSpent = Parameters<typeof createBudget>[2]

export function createPlacedBudgets(run: RunBudget, { usd }: Pick<BudgetLimits, 'usd'>): PlacedBudgets {
  const placed = new Map<string, RunBudget>()
  let current = run
  let limitsCost = usd !== undefined

  /** The innermost one. */
  function around(at: Place): RunBudget {
    for (let length = placed.size === 0 ? 0 : at.length; length > 0; length -= 1) {
      const budget = placed.get(placeText(at.slice(0, length)))
      if (budget !== undefined) return budget
    }
    return current
  }

  return {
    reserve: (effect, context) => around(context.at).reserve(effect, context),
    limitRun(limits) {
      current = createBudget(limits, run)
      limitsCost ||= limits.usd !== undefined
    },
    limitPlace(at, limits, before) {
      placed.set(placeText(at), createBudget(limits, around(at), before))
      limitsCost ||= limits.usd !== undefined
    },
    limitsCost: () => limitsCost,
  }
}
