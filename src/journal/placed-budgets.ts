import type { BudgetLimits, Cost, LeaseTerms } from '../event/effects.ts'
import { originOf, type Place, placeText } from '../event/place.ts'
import { type Account, type Budget, budgetOf, createBudget, type RunBudget } from './budget.ts'
import { defined } from '../base/json.ts'
import { type Amount, eachOf, hold, openLedger, plus, settle, spend, within } from './ledger.ts'

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

export interface Lease extends RunBudget {
  /** Returns what was not spent; anything spent later still counts. */
  readonly end: () => void
}

/**
 * Lends a part of a budget: it is reserved immediately, so that neither the lender nor its other agents can use it up,
 * and the rest is returned at the end. A call that does not fit into the part is refused, and does not wait for other
 * calls. `before`: what older processes spent of it, which the lender has already counted.
 */
export function lend(lender: RunBudget, { whom, limits = {}, among }: LeaseTerms, before?: Required<Cost>): Lease {
  const { accounts, line } = lender.shared
  const left = lender.left()
  // the requested part applies to all processes together
  const restOf = (measure: keyof Cost): number | undefined => {
    const asked = limits[measure]
    return asked === undefined ? undefined : Math.max(0, asked - (before?.[measure] ?? 0))
  }
  const lent = defined({
    calls: part(left.calls, restOf('calls'), among, 1),
    tokens: part(left.tokens, restOf('tokens'), among, 1),
    usd: part(left.usd, restOf('usd'), among, 1e-9),
  })
  let rest: Amount = openLedger({ calls: 0, tokens: 0, usd: 0, ...lent }).limits as Amount
  let hasEnded = false
  for (const account of accounts) account.ledger = hold(account.ledger, rest)

  /** The lender counts it immediately. */
  function onPaid(paid: Amount): void {
    const taken = within(paid, rest)
    rest = plus(rest, taken, -1)
    for (const account of accounts) {
      account.ledger = spend(account.ledger, taken, paid)
      account.onPaid?.(paid)
    }
  }

  // if nothing could be lent, that is not the borrower's fault
  const isOfRun = Object.values(left).includes(0) && accounts.some((account) => account.isOfRun === true)
  const allowsUnpriced = limits.unpriced === 'allow' || accounts.every((account) => account.allowsUnpriced)
  const own: Account = {
    ledger: openLedger(withBefore(lent, before), before),
    allowsUnpriced,
    lentTo: whom,
    onPaid,
    isOfRun,
  }
  return {
    ...budgetOf(own, [own], line),
    end() {
      if (hasEnded) return
      hasEnded = true
      const nothing = eachOf(() => 0)
      for (const account of accounts) account.ledger = settle(account.ledger, rest, nothing)
      rest = nothing
      line.serve()
    },
  }
}

/** How much of one measure is lent; undefined: unlimited. `least`: the smallest share there is. */
function part(left: number | undefined, asked: number | undefined, among: number, least: number): number | undefined {
  if (left === undefined) return asked
  if (asked !== undefined) return Math.min(left, asked)
  return Math.max(Math.floor(left / among / least) * least, Math.min(left, least))
}

function withBefore(lent: Cost, before: Required<Cost> | undefined): Cost {
  if (before === undefined) return lent
  const all = Object.entries(lent) as readonly [keyof Cost, number][]
  return Object.fromEntries(all.map(([measure, amount]) => [measure, amount + before[measure]]))
}
