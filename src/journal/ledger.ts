import { defined } from '../base/json.ts'
import type { Cost, Estimate } from '../event/effects.ts'

/** Calls, tokens, and billionths of a US dollar: whole numbers, so that sums are exact. */
export interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly nanos: number
}

export type Measure = keyof Amount

/** What may be spent, and what has been spent. A measure without a limit is omitted from `limits`. */
export interface Ledger {
  readonly limits: Partial<Amount>
  readonly spent: Amount
  /** Reserved for running calls. */
  readonly held: Amount
  readonly running: number
}

/** A call before its output is granted: `base` is its cost without any output. */
export interface Wanted {
  readonly base: Amount
  readonly output?: { readonly tokens: number; readonly least: number; readonly nanosPerToken: number }
  /** False if a part of the price is unknown; that part then counts as zero. */
  readonly isPriced: boolean
}

const nothing: Amount = { calls: 0, tokens: 0, nanos: 0 }

/** `before`: what counts as spent from the start. */
export function openLedger({ calls, tokens, usd }: Cost, before?: Required<Cost>): Ledger {
  const limits = defined({ calls, tokens, nanos: usd === undefined ? undefined : nanosOf(usd) })
  const spent =
    before === undefined ? nothing : { calls: before.calls, tokens: before.tokens, nanos: nanosOf(before.usd) }
  return { limits, spent, held: nothing, running: 0 }
}

function nanosOf(usd: number): number {
  return Math.round(usd * 1e9)
}

export function usdOf(nanos: number): number {
  return nanos / 1e9
}

/** A call without an estimate counts as one call without a known price. */
export function wantedOf({ calls = 1, tokens = 0, usd, output }: Estimate = {}): Wanted {
  const base = { calls, tokens: Math.ceil(tokens), nanos: nanosOf(usd ?? 0) }
  if (output === undefined) return { base, isPriced: usd !== undefined }
  const { usdPerToken } = output
  return {
    base,
    output: {
      tokens: output.tokens,
      least: Math.min(output.least, output.tokens),
      nanosPerToken: (usdPerToken ?? 0) * 1e9,
    },
    isPriced: usd !== undefined && usdPerToken !== undefined,
  }
}

/** The cost of a call with this many tokens of output. */
export function amountOf({ base, output }: Wanted, outputTokens: number): Amount {
  const nanos = base.nanos + Math.round(outputTokens * (output?.nanosPerToken ?? 0))
  return { calls: base.calls, tokens: base.tokens + outputTokens, nanos }
}

export type Fit =
  | { readonly kind: 'fits'; readonly outputTokens: number }
  /** Not even the minimum output fits. */
  | { readonly kind: 'short'; readonly measure: Measure }

/** How much output a call can have with what is left. */
export function fit(ledger: Ledger, wanted: Wanted): Fit {
  const { base, output } = wanted
  const least = output?.least ?? 0
  const needed = amountOf(wanted, least)
  // a call without cost still fits if more was spent than allowed
  const measure = (['calls', 'tokens', 'nanos'] as const).find(
    (one) => needed[one] > Math.max(0, remaining(ledger, one)),
  )
  if (measure !== undefined) return { kind: 'short', measure }
  if (output === undefined) return { kind: 'fits', outputTokens: 0 }
  const byTokens = remaining(ledger, 'tokens') - base.tokens
  const byPrice = affordable(remaining(ledger, 'nanos') - base.nanos, output.nanosPerToken)
  return { kind: 'fits', outputTokens: Math.max(least, Math.min(output.tokens, byTokens, byPrice)) }
}

/** The most tokens whose price, rounded as `amountOf` does, is within `nanos`. */
function affordable(nanos: number, nanosPerToken: number): number {
  if (nanosPerToken === 0) return Infinity
  const most = Math.ceil(nanos / nanosPerToken)
  return Math.round(most * nanosPerToken) <= nanos ? most : most - 1
}

/** What a new call can use; infinite without a limit, below 0 if calls cost more than was reserved for them. */
export function remaining({ limits, spent, held }: Ledger, measure: Measure): number {
  return (limits[measure] ?? Infinity) - spent[measure] - held[measure]
}

export function hold(ledger: Ledger, amount: Amount): Ledger {
  return { ...ledger, held: plus(ledger.held, amount), running: ledger.running + 1 }
}

/** The actual cost of a call; unknown parts count as reserved. */
export function paidOf(held: Amount, { calls, tokens, usd }: Cost = {}): Amount {
  return {
    calls: calls ?? held.calls,
    tokens: tokens ?? held.tokens,
    nanos: usd === undefined ? held.nanos : nanosOf(usd),
  }
}

/** Releases what was reserved for a call and counts its actual cost. */
export function settle(ledger: Ledger, held: Amount, paid: Amount): Ledger {
  return { ...spend(ledger, held, paid), running: ledger.running - 1 }
}

/** The same for a call that is still running. */
export function spend(ledger: Ledger, held: Amount, paid: Amount): Ledger {
  return { ...ledger, spent: plus(ledger.spent, paid), held: plus(ledger.held, held, -1) }
}

/** Limits each measure of an amount to that of another amount. */
export function within(amount: Amount, most: Amount): Amount {
  return eachOf((measure) => Math.min(amount[measure], most[measure]))
}

export function eachOf(value: (measure: Measure) => number): Amount {
  return { calls: value('calls'), tokens: value('tokens'), nanos: value('nanos') }
}

export function plus(left: Amount, right: Amount, sign: 1 | -1 = 1): Amount {
  return eachOf((measure) => left[measure] + sign * right[measure])
}
