import type { Cost, EffectRequest, Place } from '../event/effects.ts'

/** What an effect set aside; given back as what it did cost. */
interface Reservation {
  /** Called once. Undefined: the effect was begun and what it cost is not known; count the estimate. */
  settle(cost: Cost | undefined): void
}

/** Limits what effects may cost (DESIGN 2). */
export interface Budget {
  /** Sets the estimate aside before the effect begins. Rejects with `BatonError` LIMIT, or when aborted. */
  reserve(effect: EffectRequest, context: { readonly at: Place; readonly signal: AbortSignal }): Promise<Reservation>
}

export const noBudget: Budget = {
  reserve: () => Promise.resolve({ settle: () => undefined }),
}

/** What an effect cost that never began. */
export const noCost: Cost = { tokens: 0, usd: 0 }
