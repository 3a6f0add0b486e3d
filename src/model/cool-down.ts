import type { Clock } from '../base/clock.ts'

export const coolDownMs = 5 * 60_000

/** Models that failed recently. One per run, or one for all runs of a server. */
export interface CoolDown {
  /**
   * Call it when the model failed. Its cooldown starts, or starts over; until it ends, other models are tried first.
   *
   * @param ms how long, in milliseconds
   */
  rest(model: string, ms?: number): void
  isResting(model: string): boolean
}

/** @param options.ms length of the cooldown, in milliseconds */
export function createCoolDown({
  clock,
  ms = coolDownMs,
}: {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ms?: number
}): CoolDown {
  const restingUntil = new Map<string, number>()
  return {
    rest: (model, own = ms) => void restingUntil.set(model, clock.monotonic() + own),
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
