type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` that sends the headers that settings have for a server to no other origin: the package of the protocol sends them
 * with every request, also to the authorization server that a server names. A header that has another value by then is not theirs.
 */
export function keepHeaders(fetch: Fetch, server: URL, headers: Readonly<Record<string, string>>): Fetch {
  return (url, init) => {
    if (new URL(url).origin === server.origin) return fetch(url, init)
    const kept = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headers)) if (kept.get(name) === value.trim()) kept.delete(name)
    return fetch(url, { ...init, headers: kept })
  }
}
