/** The start of a text, at most `most` characters, never splitting one. Says at the end how much was cut. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  const code = text.charCodeAt(most - 1)
  const end = code >= 0xd800 && code < 0xdc00 ? most - 1 : most
  return `${text.slice(0, end)}… (${text.length - end} more characters)`
}
