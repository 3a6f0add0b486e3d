import { durationOf, isEffect, type Row } from './row.ts'
import { createTimeScale, type TimeScale } from './time-scale.ts'

/** Which rows have bars: only effects, or containers too. */
export type WaterfallRows = 'effects' | 'all'

/** The rows with bars, and their axis. */
export interface Waterfall {
  readonly rows: readonly Row[]
  readonly scale: TimeScale
}

/** The position of a bar in percent of the axis. */
export interface Bar {
  readonly left: number
  readonly width: number
}

/** @param now end of rows in progress, in milliseconds since 1970 */
export function layoutWaterfall(all: readonly Row[], which: WaterfallRows, now: number): Waterfall {
  const rows = which === 'all' ? all : all.filter(isEffect)
  return { rows, scale: scaleOf(rows, now) }
}

/** The axis of some rows. Approvals do not extend it, because they last until someone answers. */
export function scaleOf(rows: readonly Row[], now: number): TimeScale {
  const timed = rows.filter((row) => isEffect(row) && row.kind !== 'approval')
  const spans = (timed.length === 0 ? rows : timed).map((row) => ({
    from: row.start,
    to: row.start + durationOf(row, now),
  }))
  return createTimeScale(spans)
}

/** Minimum width of a bar in percent, so that it can be seen and clicked. */
const narrowest = 0.3

export function barOf(row: Row, scale: TimeScale, now: number): Bar {
  const left = Math.min(scale.position(row.start), 100 - narrowest)
  const right = scale.position(row.start + durationOf(row, now))
  return { left, width: Math.max(narrowest, right - left) }
}

/** Where the label of a bar is: beside it where there is room, else on it. */
export interface BarLabel {
  readonly side: 'after' | 'before' | 'inside'
  readonly style: { readonly left: string } | { readonly right: string }
}

/** Room that a label needs, in percent of the axis. */
const labelRoom = 15

export function labelOf({ left, width }: Bar): BarLabel {
  const right = left + width
  if (right <= 100 - labelRoom) return { side: 'after', style: { left: `${right}%` } }
  if (left >= labelRoom) return { side: 'before', style: { right: `${100 - left}%` } }
  return { side: 'inside', style: { left: `${left}%` } }
}
