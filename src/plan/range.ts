/** A figure of a plan. */
export interface Range {
  /** Whatever scripts decide. */
  readonly at_least: number
  /** When no script changes anything, nothing fails, and every answer uses up its output limit. */
  readonly as_written: number
  /** Null: nothing limits it. */
  readonly at_most: number | null
}

const none: Range = { at_least: 0, as_written: 0, at_most: 0 }

/** The sum of two figures. */
export function plus(left: Range, right: Range): Range {
  return {
    at_least: left.at_least + right.at_least,
    as_written: left.as_written + right.as_written,
    at_most: left.at_most === null || right.at_most === null ? null : left.at_most + right.at_most,
  }
}

/** What a figure is while a script may still decide otherwise. */
export function opened({ as_written }: Range): Range {
  return { at_least: 0, as_written, at_most: null }
}

export function sumOf(ranges: readonly Range[]): Range {
  return ranges.reduce(plus, none)
}
