/** A URL without user name and password, as it may be shown and recorded. */
export function shownUrl(url: URL): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}
