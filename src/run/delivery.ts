import { createInOrder, type InOrder } from '../base/concurrency.ts'
import type { TaskOutcome } from './strategy.ts'

/** Receives outcomes in input order. */
export interface Delivery {
  /** Starts with this number of tasks. */
  of(count: number): InOrder<TaskOutcome>
  /** Held outcomes are replaced by the following ones. */
  restart(): void
  /** Uses these if nothing was delivered since the last restart. */
  deliver(outcomes: readonly TaskOutcome[]): void
  release(): void
}

/** `held`: passes nothing on before the release, because later outcomes may replace earlier ones. */
export function createDelivery(
  onOutcome: (outcome: TaskOutcome, count: number) => void,
  { held }: { readonly held: boolean },
): Delivery {
  let current: InOrder<TaskOutcome> | undefined
  function begin(count: number): InOrder<TaskOutcome> {
    return (current = createInOrder((outcome: TaskOutcome) => onOutcome(outcome, count), { held }))
  }
  return {
    of: begin,
    restart: () => (current = undefined),
    deliver(outcomes) {
      if (current !== undefined) return
      const order = begin(outcomes.length)
      for (const outcome of outcomes) order.add(outcome.index, outcome)
    },
    release: () => current?.release(),
  }
}
