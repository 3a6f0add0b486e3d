import { longestTimer } from '../../base/clock.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'
import { defined } from '../../base/json.ts'
import type { McpTransport } from '../../event/mcp.ts'
import { createBoundedFetch } from '../bounded-fetch.ts'
import { createLoginFetch } from '../login-addresses.ts'
import { createFloodLimit } from '../flood-limit.ts'
import { keepHeaders } from '../own-headers.ts'
import { causeText, failureOf, statusOf } from './failures.ts'
import { newClient } from './client.ts'
import { wireOf } from './requests.ts'
import {
  type Client,
  ProtocolError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from './sdk.ts'
import { answering, createHub } from './transports.ts'
import { type Channel, type Handlers, knownIssuer, type McpAuthProvider, type Wire } from './wire.ts'

/**
 * Performs the handshake over one channel, the older one first: every server answers it, if only with an error, so no
 * timeout has to be guessed for servers that ignore unknown requests; and some servers exit when they get anything else
 * first. Rejects with ConnectionFailure, and with the signal's reason.
 */
export async function openChannel(channel: Channel, handlers: Handlers, signal: AbortSignal): Promise<Wire> {
  const hub = createHub(channel)
  try {
    return wireOf(await attempt('legacy', hub.transport(), handlers, signal), handlers)
  } catch (error) {
    signal.throwIfAborted()
    if (!ProtocolError.isInstance(error)) throw failureOf(error)
    const client = await attempt('auto', hub.transport(), handlers, signal).catch(() => {
      signal.throwIfAborted()
      throw failureOf(error)
    })
    return wireOf(client, handlers)
  }
}

interface HttpOptions {
  readonly maxBytes: number
  readonly authProvider: McpAuthProvider | undefined
  /** Names the proxy, if there is one. */
  readonly environment: Readonly<Record<string, string>>
}

type HttpTransport = McpTransport & { readonly kind: 'http' | 'sse' }

/**
 * Connects over HTTP: with the newer protocol, else the older one, else the older SSE transport, unless the transport
 * was configured. Rejects with ConnectionFailure, and with the signal's reason.
 */
export async function openHttp(
  { kind, url, headers, isNamed, authHosts }: HttpTransport,
  { maxBytes, authProvider, environment }: HttpOptions,
  handlers: Handlers,
  signal: AbortSignal,
): Promise<Wire> {
  const bounded = createBoundedFetch(maxBytes, environment)
  const address = new URL(url)
  const { fetch, refused } = createLoginFetch(keepHeaders(bounded.fetch, address, headers), address, {
    known: async () => knownIssuer(authProvider),
    hosts: authHosts,
  })
  const given = { requestInit: { headers }, fetch, ...defined({ authProvider }) }

  async function streamable(mode: 'auto' | 'legacy'): Promise<Wire> {
    const transport = new StreamableHTTPClientTransport(address, given)
    const client = await attempt(mode, answering(transport, bounded.wasTooLarge), handlers, signal)
    return wireOf(client, handlers, async () => {
      await atMost(leaveMs, transport.terminateSession()).catch(() => {})
      await client.close()
      await bounded.close()
    })
  }

  async function events(): Promise<Wire> {
    const transport = new SSEClientTransport(address, given)
    const client = await attempt('legacy', transport, handlers, signal, (error) => {
      // the transport reconnects automatically, but the server has no session for it
      if (!SseError.isInstance(error)) return
      handlers.onBroken({ kind: 'unreachable', reason: 'its event stream broke' })
    })
    return wireOf(client, handlers, async () => {
      await client.close()
      await bounded.close()
    })
  }

  async function whatItKnows(): Promise<Wire> {
    if (kind === 'sse') return events()
    try {
      return await streamable('auto')
    } catch (error) {
      signal.throwIfAborted()
      const status = statusOf(error)
      // some servers fail on requests that they do not know
      if (status !== undefined && status >= 500) return streamable('legacy')
      if (isNamed || status === undefined || ![400, 404, 405].includes(status)) throw error
      return events().catch(() => {
        throw error
      })
    }
  }

  try {
    return await whatItKnows()
  } catch (error) {
    await bounded.close()
    signal.throwIfAborted()
    throw failureOf(refused() ?? error)
  }
}

/** How long ending the session may take. */
const leaveMs = 1_000

/** Closes the transport if it rejects. */
async function attempt(
  mode: 'legacy' | 'auto',
  transport: Transport,
  handlers: Handlers,
  signal: AbortSignal,
  onError: (error: Error) => void = () => {},
): Promise<Client> {
  const client = newClient(mode, handlers)
  try {
    await unlessAborted(client.connect(transport, { timeout: longestTimer }), signal)
    limitMessages(transport, handlers)
    client.onerror = (error) => {
      onError(error)
      handlers.onLog(`error: ${causeText(error)}`)
    }
    return client
  } catch (error) {
    await client.close().catch(() => {})
    await transport.close().catch(() => {})
    throw error
  }
}

/** Ends the connection to a server that sends too many messages. Those of a process are counted where they are read. */
function limitMessages(transport: Transport, { onBroken }: Pick<Handlers, 'onBroken'>): void {
  const limit = createFloodLimit()
  const { onmessage } = transport
  const send = transport.send.bind(transport)
  let isFlooded = false
  transport.send = (message, options) => {
    limit.expect()
    return send(message, options)
  }
  transport.onmessage = (message, extra) => {
    if (isFlooded) return
    isFlooded = !limit.take()
    if (isFlooded) return onBroken({ kind: 'ended', end: { kind: 'flooded', flood: { of: 'messages' }, words: '' } })
    onmessage?.(message, extra)
  }
}
