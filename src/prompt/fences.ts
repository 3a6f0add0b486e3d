/** Fence state of `.aip` files: outside, in a fence of three backticks, in one of four or more (spec/aipack.md 1.1). */
export type AipFence = 'out' | 'three' | 'four'

/** The state after a line. Tilde fences and indented fences do not exist in this format. */
export function nextAipFence(state: AipFence, line: string): AipFence {
  if (!line.startsWith('```')) return state
  const kind = line.startsWith('````') ? 'four' : 'three'
  if (state === 'out') return kind
  return state === kind ? 'out' : state
}

/** An open fence of a Markdown text: its marks, and the first word after them in lower case. */
export interface MarkdownFence {
  readonly marks: string
  readonly language: string
}

/**
 * The fence of a Markdown text after a line: `` ` `` or `~`, three or more, at any indentation because fences stand in
 * lists too. It is closed by at least as many of the same mark with nothing behind them, so a nested opening line does
 * not close it.
 */
export function nextMarkdownFence(open: MarkdownFence | undefined, line: string): MarkdownFence | undefined {
  const match = /^\s*(`{3,}|~{3,})(.*)$/.exec(line)
  if (match === null) return open
  const [, marks = '', info = ''] = match
  if (open !== undefined) return info.trim() === '' && marks.startsWith(open.marks) ? undefined : open
  if (marks.startsWith('`') && info.includes('`')) return undefined
  return { marks, language: info.trim().split(/\s/, 1)[0]?.toLowerCase() ?? '' }
}
