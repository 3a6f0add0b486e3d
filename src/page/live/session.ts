/*
 * The token of this page. It is kept in the storage of its origin, and only its own server accepts it.
 */

const key = 'baton.token'
const inAddress = /^#ticket=(.+)$/

/** Whether this browser has a token. Its server may have ended since. */
export function isSignedIn(): boolean {
  return localStorage.getItem(key) !== null
}

/** Calls the listener when this or another page of the same origin signs in or out. Returns the function that ends it. */
export function onSession(listener: () => void): () => void {
  addEventListener('storage', listener)
  return () => removeEventListener('storage', listener)
}

/** Removes the ticket from the address, also from the history of the browser, and exchanges it for a token. */
export async function signIn(): Promise<void> {
  const [, ticket] = inAddress.exec(location.hash) ?? []
  if (ticket === undefined) return
  history.replaceState(null, '', `${location.pathname}#/`)
  try {
    const response = await fetch('/session', { method: 'POST', headers: { authorization: `Ticket ${ticket}` } })
    // a ticket that was used before leaves the token that it was exchanged for
    if (!response.ok) return
    const { token }: { readonly token: string } = await response.json()
    localStorage.setItem(key, token)
  } catch {
    // the server has ended: the page says so
  }
}

/** Loads the page again when an address with a ticket is opened in it. */
export function signInAgain(): void {
  addEventListener('hashchange', () => {
    if (inAddress.test(location.hash)) location.reload()
  })
}

/** `fetch` with the token. A token that the server does not accept is removed. */
export async function fetchSigned(path: string, init: RequestInit = {}): Promise<Response> {
  const token = localStorage.getItem(key)
  const headers = new Headers(init.headers)
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(path, { ...init, headers })
  if (response.status === 401 && localStorage.getItem(key) === token) {
    localStorage.removeItem(key)
    // the browser tells only the other pages
    dispatchEvent(new StorageEvent('storage', { key }))
  }
  return response
}
