import { defined } from '../base/json.ts'
import type { Cost, LeaseTerms } from '../event/effects.ts'
import { type Account, budgetOf, type RunBudget } from './budget.ts'
import { type Amount, eachOf, hold, openLedger, plus, settle, spend, within } from './ledger.ts'

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
