/** Lines without their endings (`\n` or `\r\n`); a line ending at the end of the text does not start another line. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  if (lines.at(-1) === '' && text.endsWith('\n')) lines.pop()
  return lines
}

/** Fence state of `.aip` files: outside, in a fence of three backticks, in one of four or more. */
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
 * The fence of a Markdown text after a line: `` ` `` or `~`, three or more, at any indentation because lists contain
 * fences too. It is closed by at least as many of the same mark with nothing after them, so a nested opening line does
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
