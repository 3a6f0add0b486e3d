/** How far a request may differ, when it is reached, from what is written. */
export interface Drift {
  /** Places of what decides it: with any of them nothing about the request is sure. */
  readonly by: readonly string[]
  /** Tokens that may be missing, because a text took the place of the instruction. */
  readonly less: number
  /** Tokens of answers that come on top, at most. */
  readonly more: number
}

export const steady: Drift = { by: [], less: 0, more: 0 }

export function isOpen({ by }: Drift): boolean {
  return by.length > 0
}

/** The drift once this place has decided as well. */
export function decidedBy(drift: Drift, ...places: readonly string[]): Drift {
  return { ...drift, by: [...new Set([...drift.by, ...places])] }
}

/** The drift once this many tokens of answers may have been added. */
export function grown(drift: Drift, tokens: number): Drift {
  return { ...drift, more: drift.more + tokens }
}
