import type { McpServer } from '../../event/mcp.ts'
import { openLoginStore } from './login-store.ts'
import { type AuthProvider, createAuthProvider, type RegisteredClient } from './provider.ts'

interface Around {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** Uses stored logins; undefined for a server without one. */
export function knownLogins(around: Around): (server: McpServer, url: string) => AuthProvider | undefined {
  return (server, url) => {
    const store = openLoginStore(url, around)
    if (store.read().tokens === undefined) return undefined
    const { name, login } = server
    return createAuthProvider({ name, store, registered: registeredClient(server), scope: login?.scope })
  }
}

/** @throws BatonError KEY_MISSING if the variable with its secret is not set */
export function registeredClient({ login }: McpServer): RegisteredClient | undefined {
  if (login?.clientId === undefined) return undefined
  const clientSecret = login.clientSecret()
  return { clientId: login.clientId, ...(clientSecret === undefined ? {} : { clientSecret }) }
}
