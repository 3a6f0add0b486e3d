const whitespace = /\p{White_Space}/u

/** The text without white space (as Unicode defines it) at its start. */
export function trimStart(text: string): string {
  let start = 0
  while (start < text.length && whitespace.test(text.charAt(start))) start += 1
  return text.slice(start)
}

/** The text without white space (as Unicode defines it) at its end. */
export function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && whitespace.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** The text with exactly one newline at its end; an empty text becomes one newline. */
export function ensureSingleTrailingNewline(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end -= 1
  return `${text.slice(0, end)}\n`
}
