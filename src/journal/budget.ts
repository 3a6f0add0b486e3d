import { BatonError } from '../base/error.ts'
import { defined, isJsonObject, type Json } from '../base/json.ts'
import { manyListeners } from '../base/concurrency.ts'
import type { BudgetLimits, Cost, EffectRequest, Grant } from '../event/effects.ts'
import type { Place } from '../event/place.ts'
import {
  type Amount,
  amountOf,
  fit,
  hold,
  type Ledger,
  remaining,
  type Measure,
  openLedger,
  paidOf,
  settle,
  usdOf,
  type Wanted,
  wantedOf,
} from './ledger.ts'
import { isPaid } from './paid-calls.ts'

/** A reservation for an effect; settled with its actual cost. */
export interface Reservation {
  readonly grant: Grant
  /**
   * Call once. Undefined: the effect was started and its cost is unknown, so the estimate counts. The same applies to
   * each missing field.
   */
  readonly settle: (cost: Cost | undefined) => void
}

/** The parts of an effect that a budget looks at. */
type Costly = Pick<EffectRequest<unknown>, 'kind' | 'request' | 'estimate'>

/** Limits the cost of effects. */
export interface Budget {
  /** Reserves the estimate before the effect starts. Rejects with `BatonError` BUDGET, or when aborted. */
  reserve(effect: Costly, context: { readonly at: Place; readonly signal: AbortSignal }): Promise<Reservation>
}

export const noBudget: Budget = {
  reserve: () => Promise.resolve({ grant: {}, settle: () => undefined }),
}

/** The cost of an effect that never started. */
export const noCost: Cost = { calls: 0, tokens: 0, usd: 0 }

/** Has the lifetime of what it limits: a session, with all its redo rounds and watched runs. */
export interface RunBudget extends Budget {
  /** The actual cost of finished calls; calls without a known price add no dollars. */
  spent(): Required<Cost>
  /**
   * What a new call can use in addition to what is reserved for running calls; only limited measures, never below 0.
   */
  left(): Cost
  /** What budgets below this one also reserve in. */
  readonly shared: { readonly accounts: readonly Account[]; readonly line: Line }
}

/**
 * Limits the cost of model calls. A call reserves its input and its maximum output; if that does not fit, its output is
 * lowered to what is left, down to the minimum in its estimate. Below that it waits for running calls to return what
 * they did not use, first come, first served, and is refused once none is running. Limits are exact as long as calls
 * cost no more than their estimates; any excess reduces what is left for later calls. With a parent, calls reserve in
 * both. `before` is what has already been spent. `reserve` rejects with BatonError BUDGET, or with the signal's reason.
 */
export function createBudget(limits: BudgetLimits, parent?: RunBudget, before?: Required<Cost>): RunBudget {
  const isOfRun = parent === undefined
  const own: Account = { ledger: openLedger(limits, before), allowsUnpriced: limits.unpriced === 'allow', isOfRun }
  return budgetOf(own, [own, ...(parent?.shared.accounts ?? [])], parent?.shared.line ?? createLine())
}

/** The budget of an account: calls reserve in all of `accounts`; the account is the first of them. */
export function budgetOf(own: Account, accounts: readonly Account[], line: Line): RunBudget {
  const limitsOutput = accounts.some(({ ledger }) => 'tokens' in ledger.limits || 'nanos' in ledger.limits)
  const needsPrice = accounts.find(({ ledger, allowsUnpriced }) => 'nanos' in ledger.limits && !allowsUnpriced)

  function begin(wanted: Wanted, outputTokens: number): Reservation {
    const held = amountOf(wanted, outputTokens)
    for (const account of accounts) account.ledger = hold(account.ledger, held)
    return {
      grant: limitsOutput && wanted.output !== undefined ? { outputTokens } : {},
      settle(cost) {
        const paid = paidOf(held, cost)
        for (const account of accounts) {
          account.ledger = settle(account.ledger, held, paid)
          account.onPaid?.(paid)
        }
        line.serve()
      },
    }
  }

  function wait(effect: Costly, wanted: Wanted, signal: AbortSignal): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        accounts,
        wanted,
        grant(outputTokens) {
          signal.removeEventListener('abort', aborted)
          resolve(begin(wanted, outputTokens))
        },
        refuse(account, measure) {
          signal.removeEventListener('abort', aborted)
          reject(budgetSpent(effect, account, { measure, wanted }))
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
      if (!isPaid(effect)) return noBudget.reserve(effect, context)
      context.signal.throwIfAborted()
      const wanted = wantedOf(effect.estimate)
      if (needsPrice !== undefined && !wanted.isPriced) throw budgetUnpriced(effect, needsPrice)
      return wait(effect, wanted, context.signal)
    },
    spent() {
      const { calls, tokens, nanos } = own.ledger.spent
      return { calls, tokens, usd: usdOf(nanos) }
    },
    left() {
      const nanos = least(accounts, 'nanos')
      return defined({
        calls: least(accounts, 'calls'),
        tokens: least(accounts, 'tokens'),
        usd: nanos === undefined ? undefined : usdOf(nanos),
      })
    },
    shared: { accounts, line },
  }
}

function least(accounts: readonly Account[], measure: Measure): number | undefined {
  const left = Math.min(...accounts.map(({ ledger }) => remaining(ledger, measure)))
  return left === Infinity ? undefined : Math.max(0, left)
}

/** One budget. `ledger` is replaced whenever something is reserved or settled. */
export interface Account {
  ledger: Ledger
  /** Calls without a known price pass a limit in US dollars, uncounted. */
  readonly allowsUnpriced: boolean
  /** Whether it limits the whole run. */
  readonly isOfRun?: boolean
  /** Who borrowed it as part of another budget, for messages; omitted: it is not part of one. */
  readonly lentTo?: string
  /** Called with the actual cost of each call. */
  readonly onPaid?: (paid: Amount) => void
}

/** A call that waits to start. It is answered once, by `grant` or by `refuse`. */
interface Waiter {
  /** All of them must have room. */
  readonly accounts: readonly Account[]
  readonly wanted: Wanted
  /** Reserves the amount in every account before it returns. */
  readonly grant: (outputTokens: number) => void
  readonly refuse: (account: Account, measure: Measure) => void
}

/**
 * First come, first served, separately for each budget: a waiting call holds up only later calls that need the same
 * budget. A call waits as long as a running call may still return something. It is refused if no call is running in a
 * budget that is too small for it, so that no call waits in vain.
 */
function createLine() {
  const waiting = new Set<Waiter>()

  /** Call this after each settlement. */
  function serve(): void {
    const awaited = new Set<Account>()
    for (const waiter of waiting) {
      const { accounts, wanted } = waiter
      if (accounts.some((account) => awaited.has(account))) continue
      const fits = accounts.map((account) => ({ account, ...fit(account.ledger, wanted) }))
      const short = fits.filter((one) => one.kind === 'short')
      const refused = short.find(({ account }) => account.ledger.running === 0)
      if (refused === undefined && short.length > 0) {
        for (const { account } of short) awaited.add(account)
        continue
      }
      waiting.delete(waiter)
      if (refused === undefined) {
        waiter.grant(Math.min(...fits.map((one) => (one.kind === 'fits' ? one.outputTokens : Infinity))))
      } else waiter.refuse(refused.account, refused.measure)
    }
  }

  return {
    /** The waiter may be answered before this returns. */
    join(waiter: Waiter): void {
      waiting.add(waiter)
      serve()
    },
    /** Stops waiting. */
    leave(waiter: Waiter): void {
      waiting.delete(waiter)
      serve()
    },
    serve,
  }
}

/** The waiting calls of a tree of budgets. */
export type Line = ReturnType<typeof createLine>

/** The error for a call whose minimum cost exceeds what is left of the limit. */
function budgetSpent(
  effect: Costly,
  { ledger: { limits, spent }, lentTo, isOfRun = false }: Account,
  { measure, wanted }: { readonly measure: Measure; readonly wanted: Wanted },
): BatonError {
  const show = shows[measure]
  const needed = amountOf(wanted, wanted.output?.least ?? 0)[measure]
  const limit = show(limits[measure] ?? 0)
  return new BatonError(
    'BUDGET',
    `${nameOf(limit, lentTo)} does not allow a call of ${modelOf(effect.request)}: ${show(spent[measure])} spent so far, and it needs at least ${show(needed)}`,
    { hint: lentTo === undefined ? hints[measure] : leaseHint, limit: isOfRun ? settingOf[measure] : undefined },
  )
}

/** The error for a call without a price: a limit in US dollars cannot be enforced for it. */
function budgetUnpriced(effect: Costly, { ledger: { limits }, lentTo }: Account): BatonError {
  const limit = shows.nanos(limits.nanos ?? 0)
  return new BatonError(
    'BUDGET',
    `the price of ${modelOf(effect.request)} is unknown, so ${nameOf(limit, lentTo)} cannot be enforced`,
    {
      hint: 'Use a model with a known price, limit tokens or calls in [budget] instead, or set unpriced = "allow" there to call it without counting its cost.',
    },
  )
}

function nameOf(limit: string, lentTo: string | undefined): string {
  return lentTo === undefined ? `the budget of ${limit}` : `the part of the budget lent to ${lentTo}, ${limit},`
}

const settingOf: { readonly [K in Measure]: string } = {
  calls: 'budget.calls',
  tokens: 'budget.tokens',
  nanos: 'budget.usd',
}

const leaseHint = 'Raise [budget], or give the agent its own budget.'

const hints: { readonly [K in Measure]: string } = {
  calls: 'Raise calls in [budget].',
  tokens: 'Raise tokens in [budget], or give the model fewer or smaller files.',
  nanos: 'Raise usd in [budget], use a cheaper model, or give it fewer or smaller files.',
}

const shows: { readonly [K in Measure]: (count: number) => string } = {
  calls: (count) => counted(count, 'call'),
  tokens: (count) => counted(count, 'token'),
  nanos: dollars,
}

function counted(count: number, name: string): string {
  return `${count.toLocaleString('en-US')} ${name}${count === 1 ? '' : 's'}`
}

/** `$0.5`, `$12`, `$0.000042`: rounded to a millionth, and amounts below a thousandth to a billionth. */
export function dollars(nanos: number): string {
  const text = usdOf(nanos).toFixed(nanos < 1e6 ? 9 : 6)
  return `$${text.replace(/\.?0+$/, '')}`
}

/**
 * The display name of the model in a request of a `model` effect (`callModel` in agent/), or the program of a command.
 */
export function modelOf(request: Json): string {
  const { provider, preset, command } = isJsonObject(request) ? request : {}
  const name = provider ?? preset ?? command
  return typeof name === 'string' ? name : 'the model'
}
