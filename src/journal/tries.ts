import type { Cost, Granted } from '../event/effects.ts'
import type { Reservation } from './budget.ts'

/** The tries of one effect: at most one of them has something set aside at a time. */
export interface Tries {
  readonly granted: Granted
  /** Counts the last try, unless it was counted as failed already. */
  settle(cost: Cost | undefined): void
  /** The cost of the last try and of those that failed; what is not known of one of them is left out. */
  withFailed(cost: Cost): Cost
}

/** While an effect waits between two tries, it holds nothing that others could use. */
export function createTries(first: Reservation, reserve: () => Promise<Reservation>): Tries {
  let current: Reservation | undefined = first
  const failed: (Cost | undefined)[] = []

  function settle(cost: Cost | undefined): void {
    current?.settle(cost)
    current = undefined
  }

  return {
    granted: {
      ...first.grant,
      failed(cost) {
        if (current !== undefined) failed.push(cost)
        settle(cost)
      },
      async again() {
        settle(undefined)
        current = await reserve()
        return current.grant
      },
    },
    settle,
    withFailed: (cost) => [cost, ...failed].reduce<Cost>(addCosts, { calls: 0, tokens: 0, usd: 0 }),
  }
}

function addCosts(left: Cost, right: Cost | undefined): Cost {
  const sum = (key: keyof Cost): Cost => {
    const [one, other] = [left[key], right?.[key]]
    return one === undefined || other === undefined ? {} : { [key]: one + other }
  }
  return { ...sum('calls'), ...sum('tokens'), ...sum('usd') }
}
