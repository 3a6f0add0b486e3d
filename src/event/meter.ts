import type { MeteredCall, RunTotal } from './context.ts'
import { addUsage, noUsage } from './message.ts'

export interface Meter {
  readonly add: (call: MeteredCall) => RunTotal
  readonly total: () => RunTotal
}

/** Adds up the model calls of one run. Calls without a price are named and never counted as free (DESIGN 8). */
export function createMeter(): Meter {
  let usage = noUsage
  let known: number | null = 0
  const unpriced = new Set<string>()
  const total = (): RunTotal => ({ usage, costUsd: known, unpriced: [...unpriced] })

  return {
    add(call) {
      const isFirst = usage.calls === 0
      usage = addUsage(usage, call.usage)
      if (call.costUsd === null) {
        unpriced.add(call.model)
        if (isFirst) known = null
      } else {
        known = (known ?? 0) + call.costUsd
      }
      return total()
    },
    total,
  }
}
