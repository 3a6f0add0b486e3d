/** The text without a byte order mark at its start. */
export function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Lines without their endings (`\n` or `\r\n`); an ending at the end of the text begins no further line. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  if (lines.at(-1) === '' && text.endsWith('\n')) lines.pop()
  return lines
}

export function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === ''
}
