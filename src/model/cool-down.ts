import type { Clock } from '../base/clock.ts'

const defaultMs = 5 * 60_000

/** Models that failed lately. One for each run. */
export interface CoolDown {
  /** The model failed: it cools down, for the full time again when it did already, and is not asked first. */
  rest(model: string): void
  isResting(model: string): boolean
}

/** @param options.ms how long a model cools down, in milliseconds */
export function createCoolDown({
  clock,
  ms = defaultMs,
}: {
  readonly clock: Pick<Clock, 'now'>
  readonly ms?: number
}): CoolDown {
  const restingUntil = new Map<string, number>()
  return {
    rest: (model) => void restingUntil.set(model, clock.now() + ms),
    isResting: (model) => clock.now() < (restingUntil.get(model) ?? 0),
  }
}

/**
 * The order in which models are tried: as written, but those that rest come last, so that there is always one to ask.
 * A model that is named twice is tried once.
 */
export function candidates(models: readonly string[], coolDown: Pick<CoolDown, 'isResting'>): readonly string[] {
  const named = [...new Set(models)]
  const resting = new Set(named.filter((model) => coolDown.isResting(model)))
  return [...named.filter((model) => !resting.has(model)), ...resting]
}
