type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` that sends a server's configured headers only to its own origin: the SDK sends them with every request,
 * also to the authorization server that the MCP server names. A header whose value has changed is not from the settings
 * and is kept.
 */
export function sameOriginHeaders(fetch: Fetch, server: URL, headers: Readonly<Record<string, string>>): Fetch {
  return (url, init) => {
    if (new URL(url).origin === server.origin) return fetch(url, init)
    const kept = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headers)) if (kept.get(name) === value.trim()) kept.delete(name)
    return fetch(url, { ...init, headers: kept })
  }
}
