import { durationOf, isEffect, type Row } from './row.ts'
import { createTimeScale, type TimeScale } from './time-scale.ts'

/** Which rows have bars: what was done, or what holds it as well. */
export type WaterfallRows = 'effects' | 'all'

/** The rows that have bars, and the axis they stand on. */
export interface Waterfall {
  readonly rows: readonly Row[]
  readonly scale: TimeScale
}

/** Where a bar is, in percent of the axis. */
export interface Bar {
  readonly left: number
  readonly width: number
}

/** @param now milliseconds since 1970: how far what goes on has come */
export function layWaterfall(all: readonly Row[], which: WaterfallRows, now: number): Waterfall {
  const rows = which === 'all' ? all : all.filter(isEffect)
  return { rows, scale: scaleOf(rows, now) }
}

/** The axis of some rows. A question to a person goes on for as long as nobody answers: it makes no axis longer. */
export function scaleOf(rows: readonly Row[], now: number): TimeScale {
  const timed = rows.filter((row) => isEffect(row) && row.kind !== 'approval')
  const spans = (timed.length === 0 ? rows : timed).map((row) => ({
    from: row.start,
    to: row.start + durationOf(row, now),
  }))
  return createTimeScale(spans)
}

/** At least so much of the axis that it can be seen and clicked. */
const narrowest = 0.3

export function barOf(row: Row, scale: TimeScale, now: number): Bar {
  const left = Math.min(scale.position(row.start), 100 - narrowest)
  const right = scale.position(row.start + durationOf(row, now))
  return { left, width: Math.max(narrowest, right - left) }
}
