/**
 * Text with URLs as they may be shown and written down: without passwords, for http without names, which are often
 * tokens, and without what stands behind the ?, where links that are signed carry their key.
 */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/(\bhttps?:\/\/)[^\s/?#'"]*@/gi, '$1')
    .replaceAll(/(\b[a-z][a-z\d+.-]*:\/\/[^\s/@:]*):[^\s/?#'"]*@/gi, '$1@')
    .replaceAll(/(\bhttps?:\/\/[^\s?#'"]*)\?[^\s#'"]*/gi, '$1')
}

/** An http(s) URL as a lock notes it. */
export interface NotedUrl {
  readonly url: string
  /** It had a query, which is not noted: the server may not know the file without it. */
  readonly query?: 'left out'
}

export function notedUrl(url: URL): NotedUrl {
  const noted = new URL(url)
  Object.assign(noted, { username: '', password: '', search: '', hash: '' })
  return { url: noted.href, ...(url.search === '' ? {} : { query: 'left out' }) }
}

/** What to do when a URL of which a part was not noted leads to something else. */
export function queryHint(what: string): string {
  return `Its address had a part behind ?, which is not stored, as it may be a secret: name it again by baton install '${what}?…'.`
}
