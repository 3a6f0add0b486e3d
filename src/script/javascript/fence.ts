/** A line that opens or closes a Markdown code block. */
export interface Fence {
  /** The marks only. */
  readonly marks: string
  /** The text after them. */
  readonly info: string
}

/** The fence on a line, if it is one; takes time linear in the line's length, whatever it contains. */
export function fenceOf(line: string): Fence | undefined {
  const [whole, marks] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
  if (whole === undefined || marks === undefined) return undefined
  const info = line.slice(whole.length)
  return info.includes('`') ? undefined : { marks, info: info.trim() }
}
