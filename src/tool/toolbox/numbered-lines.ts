/** Lines with their numbers, from `first` on. The arrow cannot be mistaken for a part of the indentation. */
export function numberedLines(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${first + index}→${line}`).join('\n')
}

/** How many lines there are, in words. */
export function linesText(count: number): string {
  return count === 1 ? '1 line' : `${count} lines`
}
