import type { MeteredCall, RunContext } from '../event/context.ts'
import { createMeter } from '../event/meter.ts'
import type { Spent } from './answer.ts'

export interface Metered {
  /** Counts what happens below it, and passes it on. */
  readonly context: RunContext
  readonly spent: () => Spent
}

/** Counts the model calls of one part of a run by themselves. */
export function withOwnMeter(context: RunContext): Metered {
  const own = createMeter()
  let model = ''
  const count = (call: MeteredCall): void => {
    own.add(call)
    model = call.model
  }
  return {
    context: {
      ...context,
      meter: (call) => {
        count(call)
        return context.meter(call)
      },
      recall: (call) => {
        count(call)
        context.recall?.(call)
      },
    },
    spent() {
      const { usage, costUsd, unpriced } = own.total()
      return { model, usage, costUsd: unpriced.length > 0 ? null : costUsd }
    },
  }
}
