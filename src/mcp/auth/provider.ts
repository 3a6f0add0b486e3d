import { randomBytes } from 'node:crypto'
import { BatonError } from '../../base/error.ts'
import { equalJson, type JsonObject } from '../../base/json.ts'
import type { Login, LoginStore } from './login-store.ts'

/** A client that the user registered manually at the authorization server. */
export interface RegisteredClient {
  readonly clientId: string
  readonly clientSecret?: string
}

/** The redirect URL, and how to send the user to the authorization server. */
interface Redirecting {
  readonly url: string
  readonly open: (url: URL) => void | Promise<void>
}

interface ProviderOptions {
  /** The server's name, for messages. */
  readonly name: string
  readonly store: LoginStore
  readonly registered?: RegisteredClient | undefined
  readonly scope?: string | undefined
  /** If omitted, nobody can log in: stored tokens are used and refreshed. */
  readonly redirect?: Redirecting
}

interface OfIssuer {
  readonly issuer: string
}

/** The OAuth provider for the SDK's client: PKCE, with dynamic client registration if the server offers it. */
export function createAuthProvider({ name, store, registered, scope, redirect }: ProviderOptions): AuthProvider {
  let verifier: string | undefined
  let lastRead: JsonObject | undefined
  const state = randomBytes(24).toString('base64url')
  const redirectUrl = redirect?.url ?? store.read().redirectUrl ?? 'http://127.0.0.1/callback'

  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'Baton',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: registered?.clientSecret === undefined ? 'none' : 'client_secret_basic',
      ...(scope === undefined ? {} : { scope }),
    },
    state: () => state,

    clientInformation(of?: OfIssuer): StoredClient | undefined {
      if (registered !== undefined) {
        const { clientId, clientSecret } = registered
        return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) }
      }
      const { clients, redirectUrl: before } = store.read()
      const known = of === undefined ? Object.values(clients).at(-1) : clients[of.issuer]
      // the authorization server rejects a client that was registered with a different redirect URL
      if (known !== undefined && (redirect === undefined || before === redirect.url)) {
        return known as unknown as StoredClient
      }
      if (redirect === undefined) throw loginNeeded(name)
      return undefined
    },
    saveClientInformation(client: object, of?: OfIssuer) {
      store.change((login) => ({
        ...login,
        redirectUrl,
        clients: { ...login.clients, [of?.issuer ?? 'unknown']: client as JsonObject },
      }))
    },

    tokens(of?: OfIssuer): StoredTokens | undefined {
      const { tokens } = store.read()
      lastRead = tokens
      const isOther = of !== undefined && tokens?.['issuer'] !== undefined && tokens['issuer'] !== of.issuer
      return isOther ? undefined : (tokens as unknown as StoredTokens | undefined)
    },
    saveTokens(tokens: object) {
      lastRead = tokens as JsonObject
      store.change((login) => ({ ...login, tokens: lastRead as JsonObject }))
    },

    redirectToAuthorization(url: URL): void | Promise<void> {
      if (redirect !== undefined) return redirect.open(withScope(url, store.read().missingScope))
      const scope = url.searchParams.get('scope')
      if (scope !== null) store.change((login) => ({ ...login, missingScope: scope }))
      throw loginNeeded(name)
    },
    saveCodeVerifier: (given: string) => void (verifier = given),
    codeVerifier(): string {
      if (verifier === undefined) throw loginNeeded(name)
      return verifier
    },

    saveDiscoveryState: (discovery: object) =>
      store.change((login) => ({ ...login, discovery: discovery as JsonObject })),
    discoveryState: () => store.read().discovery as never,

    invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
      // another process may have refreshed the tokens since
      const isOurs = equalJson(store.read().tokens, lastRead)
      store.change((login) => without(login, what, isOurs))
    },
  }
}

/** What the SDK's client needs for a login; `of`: the authorization server. */
export interface AuthProvider {
  readonly redirectUrl: string
  readonly clientMetadata: {
    readonly client_name: string
    readonly redirect_uris: string[]
    readonly grant_types: string[]
    readonly response_types: string[]
    readonly token_endpoint_auth_method: string
    readonly scope?: string
  }
  readonly state: () => string
  readonly clientInformation: (of?: OfIssuer) => StoredClient | undefined
  readonly saveClientInformation: (client: object, of?: OfIssuer) => void
  readonly tokens: (of?: OfIssuer) => StoredTokens | undefined
  readonly saveTokens: (tokens: object) => void
  readonly redirectToAuthorization: (url: URL) => void | Promise<void>
  readonly saveCodeVerifier: (verifier: string) => void
  readonly codeVerifier: () => string
  readonly saveDiscoveryState: (discovery: object) => void
  readonly discoveryState: () => never
  readonly invalidateCredentials: (what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') => void
}

interface StoredClient {
  readonly client_id: string
  readonly client_secret?: string
}

interface StoredTokens {
  readonly access_token: string
  readonly token_type: string
}

function without({ tokens, discovery, ...login }: Login, what: string, isOurs: boolean): Login {
  const isAll = what === 'all'
  return {
    ...login,
    clients: isAll || what === 'client' ? {} : login.clients,
    ...(tokens === undefined || ((isAll || what === 'tokens') && isOurs) ? {} : { tokens }),
    ...(discovery === undefined || isAll || what === 'discovery' ? {} : { discovery }),
  }
}

function withScope(url: URL, more = ''): URL {
  const scopes = `${url.searchParams.get('scope') ?? ''} ${more}`.split(' ').filter(Boolean)
  const wanted = new URL(url)
  if (scopes.length > 0) wanted.searchParams.set('scope', [...new Set(scopes)].join(' '))
  return wanted
}

/** The error of a server that requires a login when nobody can log in. */
function loginNeeded(name: string): BatonError {
  return new BatonError('KEY_MISSING', `the MCP server ${name} requires a login`, {
    hint: `Log in with: baton mcp login ${name}`,
  })
}
