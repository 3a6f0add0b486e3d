import { emit, type RunContext } from '../event/context.ts'
import type { Usage } from '../event/message.ts'
import type { ChosenModel } from './parts.ts'

export interface CountedCall {
  readonly chosen: ChosenModel
  readonly usage: Usage
  /** In US dollars; null when its price is not known. */
  readonly costUsd: number | null
}

/** Adds a call that was sent to the total of the run, and says so. */
export function countCall({ chosen, usage, costUsd }: CountedCall, context: RunContext): void {
  const total = context.meter({ model: chosen.label, usage, costUsd })
  emit(context, {
    type: 'usage',
    model: chosen.label,
    call: usage,
    total: total.usage,
    cost_usd: costUsd,
    total_cost_usd: total.costUsd,
  })
}
