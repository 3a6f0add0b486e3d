/** A part of a URL as it is meant; what is no valid encoding stays as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
