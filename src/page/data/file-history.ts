/** What is known of one run of a file. */
export interface RunPoint {
  readonly id: string
  /** ISO 8601. */
  readonly started: string
  readonly duration_ms: number
  readonly cost_usd: number | null
  readonly score: number | null
}

/** A bar of a chart of runs. */
interface Bar {
  readonly id: string
  readonly started: string
  readonly value: number
  /** From 0 to 1; a value of 0 or an unknown one has no height. */
  readonly height: number
}

/** A chart of one value over the runs of a file, the oldest first. */
export interface RunChart {
  readonly bars: readonly Bar[]
  /** The values at the bottom and the top. */
  readonly least: number
  readonly most: number
}

/**
 * The bars of a value. Undefined if no run has it. Bars start at 0, or at the least value if that is below.
 * @param runs newest first
 */
export function chartOf(runs: readonly RunPoint[], valueOf: (run: RunPoint) => number | null): RunChart | undefined {
  const known = runs.flatMap((run) => {
    const value = valueOf(run)
    return value === null ? [] : [{ run, value }]
  })
  if (known.length === 0) return undefined
  const values = known.map(({ value }) => value)
  const least = Math.min(0, ...values)
  const most = Math.max(0, ...values)
  const span = most - least
  const bars = known.toReversed().map(({ run: { id, started }, value }) => ({
    id,
    started,
    value,
    height: span === 0 ? 0 : (value - least) / span,
  }))
  return { bars, least, most }
}
