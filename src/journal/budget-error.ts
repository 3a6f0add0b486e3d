import { BatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import type { EffectRequest } from '../event/effects.ts'
import { amountOf, usdOf, type Ledger, type Measure, type Wanted } from './ledger.ts'

/** The call is refused: what is left of the limit is less than the least it can cost (DESIGN 8 "Budget"). */
export function budgetSpent(
  effect: EffectRequest,
  { limits, spent }: Ledger,
  { measure, wanted }: { readonly measure: Measure; readonly wanted: Wanted },
): BatonError {
  const show = shows[measure]
  const needed = amountOf(wanted, wanted.output?.least ?? 0)[measure]
  const limit = show(limits[measure] ?? 0)
  return new BatonError(
    'BUDGET',
    `the budget of ${limit} does not allow a call of ${modelOf(effect)}: ${show(spent[measure])} spent so far, and it needs at least ${show(needed)}`,
    { hint: hints[measure] },
  )
}

/** The call is refused: a limit in US dollars cannot be kept without a price. */
export function budgetUnpriced(effect: EffectRequest, { limits }: Ledger): BatonError {
  const limit = shows.nanos(limits.nanos ?? 0)
  return new BatonError(
    'BUDGET',
    `the price of ${modelOf(effect)} is not known, so the budget of ${limit} cannot be kept`,
    {
      hint: 'Name a model with a known price, limit tokens or calls in [budget] instead, or set unpriced = "allow" there to call it uncounted.',
    },
  )
}

const hints: { readonly [K in Measure]: string } = {
  calls: 'Raise calls in [budget].',
  tokens: 'Raise tokens in [budget], or give the model fewer or smaller files.',
  nanos: 'Raise usd in [budget], name a model that costs less, or give it fewer or smaller files.',
}

const shows: { readonly [K in Measure]: (count: number) => string } = {
  calls: (count) => counted(count, 'call'),
  tokens: (count) => counted(count, 'token'),
  nanos: dollars,
}

function counted(count: number, name: string): string {
  return `${count.toLocaleString('en-US')} ${name}${count === 1 ? '' : 's'}`
}

/** `$0.5`, `$12`, `$0.000042`: to a millionth, and what is less than a thousandth to a billionth. */
function dollars(nanos: number): string {
  const text = usdOf(nanos).toFixed(nanos < 1e6 ? 9 : 6)
  return `$${text.replace(/\.?0+$/, '')}`
}

/** Model effects name their model as people know it; see `callModel` in agent/. */
function modelOf({ request }: EffectRequest): string {
  const name = isObject(request) ? request['provider'] : undefined
  return typeof name === 'string' ? name : 'the model'
}
