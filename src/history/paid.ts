import type { Spent } from '../event/meter.ts'

/** Totals of model calls. `usd` is null if there were calls and a price is unknown. */
export interface Paid {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly estimated?: true
  readonly usd: number | null
  readonly models: readonly string[]
}

export const noPaid: Paid = { calls: 0, input: 0, output: 0, cached: 0, usd: 0, models: [] }

/** Adds the usage of a model call. */
export function addPaid(paid: Paid, { model, usage, costUsd }: Spent): Paid {
  return {
    calls: paid.calls + usage.calls,
    input: paid.input + usage.input,
    output: paid.output + usage.output,
    cached: paid.cached + usage.cached,
    ...(paid.estimated === true || usage.estimated === true ? { estimated: true } : {}),
    usd: costUsd === null ? (paid.calls === 0 ? null : paid.usd) : (paid.usd ?? 0) + costUsd,
    models: paid.models.includes(model) ? paid.models : [...paid.models, model],
  }
}
