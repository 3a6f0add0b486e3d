import type { Cost, EffectRequest, Grant, Place } from '../event/effects.ts'

/** What an effect set aside; given back as what it did cost. */
export interface Reservation {
  readonly grant: Grant
  /**
   * Called once. Undefined: the effect was begun and what it cost is not known; count the estimate. So does each field
   * that is left out.
   */
  readonly settle: (cost: Cost | undefined) => void
}

/** Limits what effects may cost (DESIGN 2). */
export interface Budget {
  /** Sets the estimate aside before the effect begins. Rejects with `BatonError` BUDGET, or when aborted. */
  reserve(effect: EffectRequest, context: { readonly at: Place; readonly signal: AbortSignal }): Promise<Reservation>
}

export const noBudget: Budget = {
  reserve: () => Promise.resolve({ grant: {}, settle: () => undefined }),
}

/** What an effect cost that never began. */
export const noCost: Cost = { calls: 0, tokens: 0, usd: 0 }
