import type { Cost, Grant } from '../event/effects.ts'
import type { Spent } from '../event/meter.ts'
import { noCost, type Reservation } from './budget.ts'

/** The tries of one effect: at most one of them has a reservation at a time. */
export interface Tries {
  readonly grant: Grant
  /** Counts the try that is in progress as failed; undefined: its usage is unknown. */
  readonly failed: (spent: Spent | undefined) => void
  /** Reserves again for the next try. */
  readonly again: () => Promise<Grant>
  /** Counts the last try, unless it was already counted as failed. */
  readonly settle: (spent: Spent | undefined) => void
  /** Releases the reservation of an effect that never started. */
  readonly cancel: () => void
  /** The total cost of all tries, as far as it is known for all of them; undefined if nothing is known. */
  readonly cost: () => Cost | undefined
  /** The usage of each try for which it is known. */
  readonly spent: () => readonly Spent[]
}

/** While an effect waits between two tries, it holds no reservation. `onSpent` is called for each try. */
export function createTries(
  first: Reservation,
  { reserve, onSpent }: { readonly reserve: () => Promise<Reservation>; readonly onSpent: (spent: Spent) => void },
): Tries {
  let current: Reservation | undefined = first
  const counted: { readonly spent: Spent | undefined; readonly cost: Cost | undefined }[] = []

  function count(spent: Spent | undefined, cost: Cost | undefined): void {
    if (current === undefined) return
    counted.push({ spent, cost })
    current.settle(cost)
    current = undefined
    if (spent !== undefined) onSpent(spent)
  }

  return {
    grant: first.grant,
    failed: (spent) => count(spent, spent && costOfFailed(spent)),
    async again() {
      count(undefined, undefined)
      current = await reserve()
      return current.grant
    },
    settle: (spent) => count(spent, spent && costOf(spent)),
    cancel() {
      current?.settle(noCost)
      current = undefined
    },
    cost() {
      const sum = counted.map(({ cost }) => cost).reduce<Cost>(addCosts, noCost)
      return Object.keys(sum).length === 0 ? undefined : sum
    },
    spent: () => counted.flatMap(({ spent }) => spent ?? []),
  }
}

/** The cost of a call. Unknown parts are omitted: the price, and the tokens if the host did not count them. */
function costOf({ usage, costUsd }: Spent): Cost {
  const tokens = usage.input + usage.output
  return {
    calls: Math.max(1, usage.calls),
    ...(tokens > 0 || costUsd === 0 ? { tokens } : {}),
    ...(costUsd === null ? {} : { usd: costUsd }),
  }
}

/** The tokens of a failed call are estimated, so zero really means zero. */
function costOfFailed({ usage, costUsd }: Spent): Cost {
  return { calls: 1, tokens: usage.input + usage.output, ...(costUsd === null ? {} : { usd: costUsd }) }
}

function addCosts(left: Cost, right: Cost | undefined): Cost {
  const sum = (key: keyof Cost): Cost => {
    const [one, other] = [left[key], right?.[key]]
    return one === undefined || other === undefined ? {} : { [key]: one + other }
  }
  return { ...sum('calls'), ...sum('tokens'), ...sum('usd') }
}
