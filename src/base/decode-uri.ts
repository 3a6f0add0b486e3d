/** Decodes a part of a URL; an invalid encoding is left as is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
