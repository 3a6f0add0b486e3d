import { manyListeners } from '../base/limit.ts'
import type { BudgetLimits, Cost, EffectRequest } from '../event/effects.ts'
import { budgetSpent, budgetUnpriced } from './budget-error.ts'
import { createLine, type Account, type Line, type Waiter } from './budget-line.ts'
import { noBudget, type Budget, type Reservation } from './budget.ts'
import { amountOf, hold, leftOf, openLedger, settle, usdOf, wantedOf, type Measure, type Wanted } from './ledger.ts'

export type { BudgetLimits } from '../event/effects.ts'

/** Lives as long as what it limits: a session, with all its redo rounds and watched runs. */
export interface RunBudget extends Budget {
  /** What finished calls did cost; calls without a known price add no dollars. */
  spent(): Required<Cost>
  /** What a new call can take, with what is set aside for running calls gone; only what is limited, never below 0. */
  left(): Cost
  /** What budgets below this one reserve in as well. */
  readonly shared: { readonly accounts: readonly Account[]; readonly line: Line }
}

/**
 * Limits what model calls may cost (DESIGN 8 "Budget"). A call reserves its input and its whole output; when that does
 * not fit, its output is lowered to what is left, down to the least that its estimate names. Below that it waits for
 * running calls to return their rest, first come, first served, and is refused once none is running. Limits hold
 * exactly as long as calls cost no more than their estimates; what one cost on top is missing for the next ones.
 * With a parent, calls reserve in both. `before` is what has been spent already.
 * `reserve` rejects with BatonError BUDGET, or with the signal's reason.
 */
export function createBudget(limits: BudgetLimits, parent?: RunBudget, before?: Required<Cost>): RunBudget {
  const own: Account = { ledger: openLedger(limits, before), allowsUnpriced: limits.unpriced === 'allow' }
  const accounts = [own, ...(parent?.shared.accounts ?? [])]
  const line = parent?.shared.line ?? createLine()
  const limitsOutput = accounts.some(({ ledger }) => 'tokens' in ledger.limits || 'nanos' in ledger.limits)
  const needsPrice = accounts.find(({ ledger, allowsUnpriced }) => 'nanos' in ledger.limits && !allowsUnpriced)

  function begin(wanted: Wanted, outputTokens: number): Reservation {
    const held = amountOf(wanted, outputTokens)
    for (const account of accounts) account.ledger = hold(account.ledger, held)
    return {
      grant: limitsOutput && wanted.output !== undefined ? { outputTokens } : {},
      settle(cost) {
        for (const account of accounts) account.ledger = settle(account.ledger, held, cost)
        line.serve()
      },
    }
  }

  function wait(effect: EffectRequest, wanted: Wanted, signal: AbortSignal): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        accounts,
        wanted,
        grant(outputTokens) {
          signal.removeEventListener('abort', aborted)
          resolve(begin(wanted, outputTokens))
        },
        refuse({ ledger }, measure) {
          signal.removeEventListener('abort', aborted)
          reject(budgetSpent(effect, ledger, { measure, wanted }))
        },
      }
      const aborted = (): void => {
        line.leave(waiter)
        reject(signal.reason as Error)
      }
      manyListeners(signal).addEventListener('abort', aborted, { once: true })
      line.join(waiter)
    })
  }

  return {
    async reserve(effect, context) {
      if (effect.kind !== 'model') return noBudget.reserve(effect, context)
      context.signal.throwIfAborted()
      const wanted = wantedOf(effect.estimate)
      if (needsPrice !== undefined && !wanted.isPriced) throw budgetUnpriced(effect, needsPrice.ledger)
      return wait(effect, wanted, context.signal)
    },
    spent() {
      const { calls, tokens, nanos } = own.ledger.spent
      return { calls, tokens, usd: usdOf(nanos) }
    },
    left() {
      const [calls, tokens, nanos] = (['calls', 'tokens', 'nanos'] as const).map((measure) => least(accounts, measure))
      return {
        ...(calls === undefined ? {} : { calls }),
        ...(tokens === undefined ? {} : { tokens }),
        ...(nanos === undefined ? {} : { usd: usdOf(nanos) }),
      }
    },
    shared: { accounts, line },
  }
}

function least(accounts: readonly Account[], measure: Measure): number | undefined {
  const left = Math.min(...accounts.map(({ ledger }) => leftOf(ledger, measure)))
  return left === Infinity ? undefined : Math.max(0, left)
}
