import type { McpServer } from '../../event/mcp.ts'
import { openLoginStore, secretsOfLogin } from './login-store.ts'
import { type AuthProvider, createAuthProvider, type RegisteredClient } from './provider.ts'

interface Around {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** A stored login. `secrets`: what is masked of it. */
export type KnownLogin = AuthProvider & { readonly secrets: () => readonly string[] }

/** Uses stored logins; undefined for a server without one. */
export function knownLogins(around: Around): (server: McpServer, url: string) => KnownLogin | undefined {
  return (server, url) => {
    const store = openLoginStore(url, around)
    if (store.read().tokens === undefined) return undefined
    const { name, login } = server
    const provider = createAuthProvider({ name, store, registered: registeredClient(server), scope: login?.scope })
    return { ...provider, secrets: () => secretsOfLogin(store.read()) }
  }
}

/** @throws BatonError KEY_MISSING if the variable with its secret is not set */
export function registeredClient({ login }: McpServer): RegisteredClient | undefined {
  if (login?.clientId === undefined) return undefined
  const clientSecret = login.clientSecret()
  return { clientId: login.clientId, ...(clientSecret === undefined ? {} : { clientSecret }) }
}
