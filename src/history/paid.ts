import { isObject } from '../base/json.ts'

/** What model calls came to. `usd` is null when there were calls and no price is known. */
export interface Paid {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly usd: number | null
  readonly models: readonly string[]
}

export const noPaid: Paid = { calls: 0, input: 0, output: 0, cached: 0, usd: 0, models: [] }

/** Adds the `used` of a finished model call. */
export function addPaid(paid: Paid, used: { readonly [key: string]: unknown }): Paid {
  const usage = isObject(used['usage']) ? used['usage'] : {}
  const usd = typeof used['usd'] === 'number' ? used['usd'] : null
  const model = String(used['model'])
  return {
    calls: paid.calls + numberOf(usage['calls']),
    input: paid.input + numberOf(usage['input']),
    output: paid.output + numberOf(usage['output']),
    cached: paid.cached + numberOf(usage['cached']),
    usd: usd === null ? (paid.calls === 0 ? null : paid.usd) : (paid.usd ?? 0) + usd,
    models: paid.models.includes(model) ? paid.models : [...paid.models, model],
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
