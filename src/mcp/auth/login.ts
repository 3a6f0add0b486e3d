import { startLimit } from '../../base/clock.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { cutText } from '../../base/cut-text.ts'
import { BatonError } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import type { Authorizing } from '../connection.ts'
import { isPageAddress } from '../login-addresses.ts'
import { openCallback } from './callback.ts'
import type { Login, LoginStore } from './login-store.ts'
import { type AuthProvider, createAuthProvider, type RegisteredClient } from './provider.ts'

export interface LoginOptions {
  /** The server's name, for messages. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** See `McpTransport`. */
  readonly authHosts?: readonly string[] | undefined
  readonly store: LoginStore
  readonly registered?: RegisteredClient | undefined
  readonly scope?: string | undefined
  /** The redirect port, if only one is registered. */
  readonly port?: number | undefined
  /** Shows the address to the user, and opens it if there is a browser. */
  readonly show: (url: URL) => void | Promise<void>
  readonly authorize: (authorizing: Authorizing<AuthProvider>) => Promise<'done' | 'not_needed'>
  /** Names the proxy, if there is one. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/** How long the user may take. */
const patienceMs = 10 * 60 * 1000

/**
 * Logs in at a server, in the user's browser. `not_needed`: the server answers without a login.
 * @throws BatonError KEY_REFUSED, LIMIT when the login is not completed in time, MCP_FAILED for an address that is not
 * opened; ConnectionFailure
 */
export async function login(options: LoginOptions): Promise<'done' | 'not_needed'> {
  const { name, url, headers, authHosts, store, registered, scope, show, authorize, env, signal } = options
  const callback = await openCallback(options.port ?? portOf(store.read().redirectUrl))
  const late = new AbortController()
  const endLimit = startLimit(patienceMs, () => late.abort(tooLate(name)))
  const stop = manyListeners(AbortSignal.any([signal, late.signal]))
  try {
    // otherwise the old tokens, or an authorization server that is no longer in use, would be used instead of a new
    // login
    store.change(withoutOldLogin)
    const redirect = { url: callback.url, open: (address: URL) => show(checked(address, name)) }
    const provider = createAuthProvider({ name, store, registered, scope, redirect })
    // a user who is already logged in there is redirected immediately
    const brought = callback.answer(provider.state(), stop)
    brought.catch(() => {})
    return await authorize({ url, headers, authHosts, provider, answer: () => brought, env, signal: stop })
  } finally {
    endLimit()
    callback.close()
  }
}

function withoutOldLogin({ clients, redirectUrl, missingScope }: Login): Login {
  return { clients, ...defined({ redirectUrl, missingScope }) }
}

/**
 * The server chooses the login page: it could send the browser to files, to programs, or over an unencrypted network.
 */
function checked(address: URL, name: string): URL {
  if (isPageAddress(address)) return address
  throw new BatonError('MCP_FAILED', `the login page of the MCP server ${name} is not at an https:// address`, {
    hint: `It was not opened: ${cutText(address.href, 200)}`,
  })
}

/** The port that this installation was registered with. */
function portOf(redirectUrl: string | undefined): number | undefined {
  return redirectUrl === undefined ? undefined : Number(new URL(redirectUrl).port) || undefined
}

function tooLate(name: string): BatonError {
  return new BatonError('LIMIT', `the login at ${name} was not completed within 10 minutes`, {
    hint: 'Run the command again, and open the address that it shows.',
  })
}
