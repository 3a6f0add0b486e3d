/** Lines with their numbers, starting at `first`. The arrow cannot be mistaken for indentation. */
export function numberedLines(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${first + index}→${line}`).join('\n')
}

/** A line count as text: "1 line", "3 lines". */
export function linesText(count: number): string {
  return count === 1 ? '1 line' : `${count} lines`
}
