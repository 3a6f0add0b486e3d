import { createInOrder, type InOrder } from '../base/concurrency.ts'
import type { TaskOutcome } from './task.ts'

/** Where outcomes go, in input order. */
export interface Delivery {
  /** Begins with tasks of which there are so many. */
  of(count: number): InOrder<TaskOutcome>
  /** What was held back is replaced by what comes now. */
  restart(): void
  /** These, where nothing was delivered since the last restart. */
  deliver(outcomes: readonly TaskOutcome[]): void
  release(): void
}

/** `held`: nothing is passed on before it is released, because what comes later may replace it. */
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
