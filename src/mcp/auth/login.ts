import { startLimit } from '../../base/clock.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { cutText } from '../../base/cut-text.ts'
import { BatonError } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import type { Authorizing } from '../connection.ts'
import { openCallback } from './callback.ts'
import type { Login, LoginStore } from './login-store.ts'
import { type AuthProvider, createAuthProvider, type RegisteredClient } from './provider.ts'

export interface LoginOptions {
  /** Of the server, for messages. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly store: LoginStore
  readonly registered?: RegisteredClient | undefined
  readonly scope?: string | undefined
  /** Of this machine, where only one is registered. */
  readonly port?: number | undefined
  /** Shows the address to the person, and opens it where there is a browser. */
  readonly show: (url: URL) => void | Promise<void>
  readonly authorize: (authorizing: Authorizing<AuthProvider>) => Promise<'done' | 'not_needed'>
  readonly signal: AbortSignal
}

/** How long a person may take. */
const patienceMs = 10 * 60 * 1000

/**
 * Logs in at a server, in the browser of the person. `not_needed`: the server answers without.
 * @throws BatonError KEY_REFUSED, LIMIT when nobody comes back, MCP_FAILED for an address that is not opened; ConnectionFailure
 */
export async function login(options: LoginOptions): Promise<'done' | 'not_needed'> {
  const { name, url, headers, store, registered, scope, show, authorize, signal } = options
  const callback = await openCallback(options.port ?? portOf(store.read().redirectUrl))
  const late = new AbortController()
  const endLimit = startLimit(patienceMs, () => late.abort(tooLate(name)))
  const stop = manyListeners(AbortSignal.any([signal, late.signal]))
  try {
    // an old login would be used in place of a new one, and an authorization server that is no longer asked
    store.change(withoutOldLogin)
    const redirect = { url: callback.url, open: (address: URL) => show(checked(address, name)) }
    const provider = createAuthProvider({ name, store, registered, scope, redirect })
    // who is logged in there already comes back at once
    const brought = callback.answer(provider.state(), stop)
    brought.catch(() => {})
    return await authorize({ url, headers, provider, answer: () => brought, signal: stop })
  } finally {
    endLimit()
    callback.close()
  }
}

function withoutOldLogin({ clients, redirectUrl, missingScope }: Login): Login {
  return { clients, ...defined({ redirectUrl, missingScope }) }
}

/** Names by which this machine is reached without a network. */
const local: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** A server says where people log in: a browser could be sent to files, to programs, or over a network that others read. */
function checked(address: URL, name: string): URL {
  const { protocol, hostname } = address
  if (protocol === 'https:' || (protocol === 'http:' && local.has(hostname))) return address
  throw new BatonError('MCP_FAILED', `the login of the MCP server ${name} is at an address that is not https://`, {
    hint: `It is not opened: ${cutText(address.href, 200)}`,
  })
}

/** The port that this installation was registered with. */
function portOf(redirectUrl: string | undefined): number | undefined {
  return redirectUrl === undefined ? undefined : Number(new URL(redirectUrl).port) || undefined
}

function tooLate(name: string): BatonError {
  return new BatonError('LIMIT', `nobody has come back from the login at ${name} for 10 minutes`, {
    hint: 'Run the command again, and open the address that it shows.',
  })
}
