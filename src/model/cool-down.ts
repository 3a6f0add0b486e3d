import type { Clock } from '../base/clock.ts'

const defaultMs = 5 * 60_000

/** Models that failed recently. One per run. */
export interface CoolDown {
  /**
   * Call it when the model failed. Its cooldown starts, or starts over; until it ends, other models are tried first.
   */
  rest(model: string): void
  isResting(model: string): boolean
}

/** @param options.ms length of the cooldown, in milliseconds */
export function createCoolDown({
  clock,
  ms = defaultMs,
}: {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ms?: number
}): CoolDown {
  const restingUntil = new Map<string, number>()
  return {
    rest: (model) => void restingUntil.set(model, clock.monotonic() + ms),
    isResting: (model) => clock.monotonic() < (restingUntil.get(model) ?? 0),
  }
}

/**
 * The order in which models are tried: as written, but those in cooldown last, so that there is always a model to try.
 * Duplicates are removed.
 */
export function candidates(models: readonly string[], coolDown: Pick<CoolDown, 'isResting'>): readonly string[] {
  const named = [...new Set(models)]
  const resting = new Set(named.filter((model) => coolDown.isResting(model)))
  return [...named.filter((model) => !resting.has(model)), ...resting]
}
