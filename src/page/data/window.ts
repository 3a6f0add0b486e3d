/** Which rows of a long list are drawn: from `first` to before `end`. */
export interface ShownRows {
  readonly first: number
  readonly end: number
}

/** What is seen of a long list, in pixels. */
export interface Viewport {
  readonly top: number
  readonly height: number
}

/** Rows above and below that are drawn as well, so that a short scroll finds them. */
const spare = 8

/** The rows that a viewport shows of a list in which all rows have the same height, in pixels. */
export function rowsIn({ top, height }: Viewport, rowHeight: number, count: number): ShownRows {
  const first = Math.floor(top / rowHeight) - spare
  const end = Math.ceil((top + height) / rowHeight) + spare
  return { first: between(first, 0, count), end: between(end, 0, count) }
}

/** Where to scroll so that a row is seen whole; the same `top` when it is already. */
export function topFor(index: number, { top, height }: Viewport, rowHeight: number): number {
  const [from, to] = [index * rowHeight, (index + 1) * rowHeight]
  if (from < top) return from
  return to > top + height ? to - height : top
}

/** The row that a key leads to, of a list of `count`; undefined for a key that leads nowhere. */
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
