import { addUsage, noUsage, type Usage } from './message.ts'
import { originOf, type Place, placeText } from './place.ts'

/** The usage of model calls. */
export interface Spent {
  /** For display, for example `openai::gpt-5-mini`; the last of several, empty if there was none. */
  readonly model: string
  readonly usage: Usage
  /** In US dollars; null if any price is unknown. */
  readonly costUsd: number | null
}

/** The total of all model calls of a run so far. */
export interface RunTotal {
  readonly usage: Usage
  /** Sum of the calls with a known price; null if there were calls and none has one. */
  readonly costUsd: number | null
  /** Models whose price is unknown, without duplicates. */
  readonly unpriced: readonly string[]
}

/** Counts the model calls of a run. Models without a price are listed and never counted as free. */
export interface Meter {
  /** Counts a call that was made at a place. Returns the new total. */
  readonly add: (at: Place, spent: Spent) => RunTotal
  /** Counts a call that was answered from a record in surrounding measurements only: it is already in the total. */
  readonly recall: (at: Place, spent: Spent) => void
  /**
   * Does some work, and returns the usage of the calls at and below its place; `soFar` returns it while the work is in
   * progress. Work measured `alone` is excluded from surrounding work that is also measured alone.
   */
  readonly measure: <T>(
    at: Place,
    work: (soFar: () => Spent) => Promise<T>,
    how?: Measuring,
  ) => Promise<{ readonly value: T; readonly spent: Spent }>
  readonly total: () => RunTotal
}

export type Measuring = 'whole' | 'alone'

export const nothingSpent: Spent = { model: '', usage: noUsage, costUsd: 0 }

/** The sum of two; its cost is unknown if either is unknown. */
export function addSpent(left: Spent, right: Spent): Spent {
  const costUsd = left.costUsd === null || right.costUsd === null ? null : left.costUsd + right.costUsd
  return { model: right.model === '' ? left.model : right.model, usage: addUsage(left.usage, right.usage), costUsd }
}

export function createMeter(): Meter {
  let usage = noUsage
  let known: number | null = 0
  const unpriced = new Set<string>()
  /** Active measurements by the text of their place; a place may have several. */
  const measured = new Map<string, Set<{ spent: Spent; readonly how: Measuring }>>()
  const total = (): RunTotal => ({ usage, costUsd: known, unpriced: [...unpriced] })

  function recall(at: Place, spent: Spent): void {
    if (measured.size === 0) return
    const origin = originOf(at)
    let isTaken = false
    for (let length = origin.length; length >= 0; length -= 1) {
      const here = measured.get(placeText(origin.slice(0, length))) ?? []
      for (const measurement of here)
        if (measurement.how === 'whole' || !isTaken) measurement.spent = addSpent(measurement.spent, spent)
      isTaken ||= [...here].some(({ how }) => how === 'alone')
    }
  }

  return {
    add(at, spent) {
      const isFirst = usage.calls === 0
      usage = addUsage(usage, spent.usage)
      if (spent.costUsd === null) {
        unpriced.add(spent.model)
        if (isFirst) known = null
      } else {
        known = (known ?? 0) + spent.costUsd
      }
      recall(at, spent)
      return total()
    },
    recall,
    async measure(at, work, how = 'whole') {
      const key = placeText(originOf(at))
      const measurement = { spent: nothingSpent, how }
      const here = measured.get(key) ?? new Set()
      measured.set(key, here.add(measurement))
      try {
        const value = await work(() => measurement.spent)
        return { value, spent: measurement.spent }
      } finally {
        here.delete(measurement)
        if (here.size === 0) measured.delete(key)
      }
    },
    total,
  }
}
