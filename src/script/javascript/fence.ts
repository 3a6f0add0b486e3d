/** A line that opens, or closes, a block of Markdown. */
export interface Fence {
  /** The marks alone. */
  readonly marks: string
  /** What stands behind them. */
  readonly info: string
}

/** The fence that a line is; its time grows with its length, whatever it holds. */
export function fenceOf(line: string): Fence | undefined {
  const [whole, marks] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
  if (whole === undefined || marks === undefined) return undefined
  const info = line.slice(whole.length)
  return info.includes('`') ? undefined : { marks, info: info.trim() }
}
