import { longestTimer } from '../../base/clock.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { messageOf } from '../../base/error.ts'
import { createBoundedFetch } from '../bounded-fetch.ts'
import { type Authorizing, ConnectionFailure } from '../connection.ts'
import { createLoginFetch } from '../login-addresses.ts'
import { sameOriginHeaders } from '../same-origin-headers.ts'
import { failureOf, hasCause, ownError } from './failures.ts'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from './sdk.ts'
import { knownIssuer, type McpAuthProvider } from './wire.ts'

/**
 * Logs in at a server: `provider` sends the user to the authorization server, and stores the result. `not_needed`: the
 * server answers without a login. Rejects with ConnectionFailure, and with what the provider throws.
 */
export async function authorize({
  url,
  headers,
  authHosts,
  provider,
  answer,
  env,
  signal,
}: Authorizing<McpAuthProvider>): Promise<'done' | 'not_needed'> {
  const bounded = createBoundedFetch(mostLoginBytes, env)
  const address = new URL(url)
  const { fetch, refused } = createLoginFetch(sameOriginHeaders(bounded.fetch, address, headers), address, {
    known: () => knownIssuer(provider),
    hosts: authHosts,
  })
  const transport = new StreamableHTTPClientTransport(address, {
    requestInit: { headers },
    fetch,
    authProvider: provider,
  })
  const client = new Client({ name: 'baton', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const sent = { signal: manyListeners(signal), timeout: longestTimer }

  async function isLoginNeeded(): Promise<boolean> {
    try {
      await client.connect(transport, sent)
      await client.listTools(undefined, sent)
      return false
    } catch (error) {
      signal.throwIfAborted()
      const refusal = refused()
      if (refusal !== undefined) throw failureOf(refusal)
      if (hasCause(error, (cause) => UnauthorizedError.isInstance(cause))) return true
      throw ownError(error) ?? failureOf(error)
    } finally {
      await client.close().catch(() => {})
    }
  }

  try {
    if (!(await isLoginNeeded())) return 'not_needed'
    await transport.finishAuth(await answer())
    return 'done'
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ConnectionFailure) throw error
    const refusal = refused()
    if (refusal !== undefined) throw failureOf(refusal)
    throw ownError(error) ?? new ConnectionFailure({ kind: 'invalid', reason: messageOf(error) }, error)
  } finally {
    await bounded.close()
  }
}

/** Limit for each message of a login. */
export const mostLoginBytes = 1024 ** 2
