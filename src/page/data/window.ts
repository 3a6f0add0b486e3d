/** The range of drawn rows; `end` is exclusive. */
export interface ShownRows {
  readonly first: number
  readonly end: number
}

/** The visible part of a long list, in pixels. */
export interface Viewport {
  readonly top: number
  readonly height: number
}

/** Extra rows drawn above and below the viewport, so that short scrolls do not show gaps. */
const spare = 8

/** The rows visible in a viewport of a list with rows of equal height, in pixels. */
export function rowsIn({ top, height }: Viewport, rowHeight: number, count: number): ShownRows {
  const first = Math.floor(top / rowHeight) - spare
  const end = Math.ceil((top + height) / rowHeight) + spare
  return { first: between(first, 0, count), end: between(end, 0, count) }
}

/** The scroll position that makes a row fully visible; the current one if it already is. */
export function topFor(index: number, { top, height }: Viewport, rowHeight: number): number {
  const [from, to] = [index * rowHeight, (index + 1) * rowHeight]
  if (from < top) return from
  return to > top + height ? to - height : top
}

/** The row that a key moves to in a list of `count`; undefined for other keys. */
export function rowAfterKey(key: string, active: number, count: number, page: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -count,
    End: count,
  }
  const step = steps[key]
  return step === undefined || count === 0 ? undefined : between(active + step, 0, count - 1)
}

function between(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value))
}
