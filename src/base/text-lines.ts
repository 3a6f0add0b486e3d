/** The text without a byte order mark at its start. */
export function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Whether there is no line, or the line is blank. */
export function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === ''
}
