import { emit, type RunContext } from '../event/context.ts'
import type { Usage } from '../event/message.ts'
import type { ChosenModel } from './parts.ts'

export interface CountedCall {
  readonly chosen: ChosenModel
  readonly usage: Usage
  /** In US dollars; null when its price is not known. */
  readonly costUsd: number | null
}

/** Counts a call that was answered: one that was sent now, or one that a record has answered. */
export function countAnswered(call: CountedCall & { readonly isNew: boolean }, context: RunContext): void {
  if (call.isNew) return countCall(call, context)
  const { chosen, usage, costUsd } = call
  context.recall?.({ model: chosen.label, usage, costUsd })
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
