import type { Cost, Granted } from '../event/effects.ts'
import { noCost, type Reservation } from './budget.ts'

/** The tries of one effect: at most one of them has something set aside at a time. */
export interface Tries {
  readonly granted: Granted
  /** Counts the last try, unless it was counted as failed already. */
  settle(cost: Cost | undefined): void
  /** To be asked before the last try is settled: its cost and that of those that failed, as far as all are known. */
  total(cost: Cost | undefined): Cost | undefined
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
        if (current !== undefined) failed.push(undefined)
        settle(undefined)
        current = await reserve()
        return current.grant
      },
    },
    settle,
    total(cost) {
      const sum = [...(current === undefined ? [] : [cost]), ...failed].reduce<Cost>(addCosts, noCost)
      return Object.keys(sum).length === 0 ? undefined : sum
    },
  }
}

function addCosts(left: Cost, right: Cost | undefined): Cost {
  const sum = (key: keyof Cost): Cost => {
    const [one, other] = [left[key], right?.[key]]
    return one === undefined || other === undefined ? {} : { [key]: one + other }
  }
  return { ...sum('calls'), ...sum('tokens'), ...sum('usd') }
}
