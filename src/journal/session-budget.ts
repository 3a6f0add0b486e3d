import { type BudgetLimits, createBudget, type RunBudget } from './run-budget.ts'

/**
 * Gives each run of a session its budget. What earlier ones have spent counts, whatever their limits were, so that a
 * limit covers the session (DESIGN 13 "Watch"); a limit that has been raised lets it go on.
 */
export function createSessionBudget(): (limits: BudgetLimits) => RunBudget {
  let last: RunBudget | undefined
  return (limits) => (last = createBudget(limits, undefined, last?.spent()))
}
