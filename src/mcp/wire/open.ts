import { pathToFileURL } from 'node:url'
import { longestTimer } from '../../base/clock.ts'
import { atMost, manyListeners, unlessAborted } from '../../base/concurrency.ts'
import { defined, isDeeper, type Json, type JsonObject, maxJsonDepth } from '../../base/json.ts'
import type { McpQuestion, McpTransport } from '../../event/mcp.ts'
import { createBoundedFetch } from '../bounded-fetch.ts'
import { createLoginFetch } from '../login-addresses.ts'
import { createFloodLimit } from '../flood-limit.ts'
import { sameOriginHeaders } from '../same-origin-headers.ts'
import { brokenStream, causeText, failureOf, statusOf, tooLarge } from './failures.ts'
import {
  Client,
  type JSONRPCMessage,
  ProtocolError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from './sdk.ts'
import { type Channel, type Handlers, knownIssuer, type McpAuthProvider, type Wire } from './wire.ts'
import { type Asker, ConnectionFailure, listNames } from '../connection.ts'

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
  const { fetch, refused } = createLoginFetch(sameOriginHeaders(bounded.fetch, address, headers), address, {
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

/** A client, not connected yet, with Baton's capabilities and its handlers for requests of the server. */
function newClient(mode: 'legacy' | 'auto', handlers: Handlers): Client {
  const { version, roots, canAsk, canSample, ask, onListChanged, onLog } = handlers
  const client = new Client(
    { name: 'baton', version },
    {
      capabilities: {
        roots: {},
        ...(canAsk && { elicitation: { form: { applyDefaults: true }, url: {} } }),
        ...(canSample && { sampling: {} }),
      },
      versionNegotiation: { mode },
      // makes the newer protocol subscribe to changes
      listChanged: Object.fromEntries(
        listNames.map((list) => [list, { autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged(list) }]),
      ),
    },
  )
  client.setRequestHandler('roots/list', () => ({
    roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: path })),
  }))
  // also accepts notifications of servers that did not declare them
  for (const list of listNames) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => onListChanged(list))
  }
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    onLog(`${level}${logger === undefined ? '' : ` ${logger}`}: ${text}`)
  })
  if (canAsk) {
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const answer = await ask(questionOf(params as unknown as JsonObject), mcpReq.signal)
      const content = answer.action === 'accept' ? answer.content : undefined
      return { action: answer.action, ...(content !== undefined && { content: content as FormValues }) }
    })
  }
  if (canSample) {
    client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
      const answer = await ask({ kind: 'sampling', params: params as unknown as JsonObject }, mcpReq.signal)
      if (answer.action === 'accept') return (answer.content ?? {}) as unknown as SampledMessage
      throw new ProtocolError(-1, 'the request was declined')
    })
  }
  return client
}

type FormValues = { readonly [key: string]: string | number | boolean | string[] }
type SampledMessage = {
  readonly model: string
  readonly role: 'assistant'
  readonly content: { readonly type: 'text'; readonly text: string }
}

function questionOf(params: JsonObject): McpQuestion {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name] : '')
  const message = text('message')
  if (params['mode'] === 'url') return { kind: 'url', message, url: text('url') }
  return { kind: 'form', message, schema: (params['requestedSchema'] ?? {}) as JsonObject }
}

/** Sends requests to a server after the handshake. */
function wireOf(
  client: Client,
  { onListChanged }: Pick<Handlers, 'onListChanged'>,
  close: () => Promise<void> = () => client.close(),
): Wire {
  const { name = 'unnamed', version = '' } = client.getServerVersion() ?? {}
  const instructions = client.getInstructions()
  const capabilities = client.getServerCapabilities() ?? {}
  /** In the newer protocol the definition of a tool may require parameters as headers. */
  const needsHeaders = client.getProtocolEra() === 'modern' && client.transport?.hasPerRequestStream === true
  let withHeaders: ReadonlyMap<string, WireTool> | undefined
  const progress = progressOf(client)
  const subscription = client.getProtocolEra() === 'modern' ? client.autoOpenedSubscription : undefined
  let isListening = subscription !== undefined
  void subscription?.closed.then((cause) => {
    isListening = false
    // changes are no longer reported, so all lists are stale
    if (cause !== 'local') for (const list of listNames) onListChanged(list)
  })

  /** Leaves out tools whose headers are not allowed. */
  async function listTools(signal: AbortSignal): Promise<unknown> {
    const sent = { signal, timeout: longestTimer, cacheMode: 'bypass' } as const
    const result = await client.listTools(undefined, sent)
    const asking = result.tools.filter(({ inputSchema }) => JSON.stringify(inputSchema).includes('"x-mcp-header"'))
    withHeaders = new Map(asking.map((tool) => [tool.name, { name: tool.name, inputSchema: tool.inputSchema }]))
    return result
  }

  async function send(method: string, params: object, { onProgress }: Asker, signal: AbortSignal): Promise<unknown> {
    const sent = { signal: manyListeners(signal), timeout: longestTimer }
    if (needsHeaders && method === 'tools/list') return listTools(signal)
    if (needsHeaders && method === 'tools/call' && withHeaders === undefined) await listTools(signal)
    // the SDK drops the progress listener as soon as the answer arrives, which may be in the same chunk as the last
    // progress
    const token = onProgress === undefined ? undefined : progress.listen(onProgress)
    try {
      const all = { ...params, ...(token !== undefined && { _meta: { progressToken: token } }) }
      const toolDefinition = method === 'tools/call' ? withHeaders?.get((params as ToolCall).name) : undefined
      if (toolDefinition !== undefined) return await client.callTool(all as ToolCall, { ...sent, toolDefinition })
      return await client.request({ method, params: all as { readonly [key: string]: unknown } }, anything, sent)
    } finally {
      if (token !== undefined) progress.forget(token)
    }
  }

  return {
    about: {
      name,
      version,
      ...defined({ instructions }),
      protocol: client.getNegotiatedProtocolVersion() ?? 'unknown',
      capabilities: capabilities as Json,
    },
    has: (list) => capabilities[list] !== undefined,
    keepMs(list, ttlMs = 0) {
      if (client.getProtocolEra() !== 'modern') return undefined
      const tells = isListening && subscription?.honoredFilter[`${list}ListChanged`] === true
      return tells && ttlMs <= 0 ? undefined : Math.max(0, ttlMs)
    },
    async request(method, params, asker, signal) {
      try {
        return await send(method, params, asker, signal)
      } catch (error) {
        const failure = failureOf(error)
        const { problem } = failure
        if (!(problem.kind === 'http' && problem.status === 404 && client.transport?.sessionId !== undefined))
          throw failure
        throw new ConnectionFailure({ kind: 'session_lost' }, error)
      }
    },
    close: () => close().catch(() => {}),
  }
}

type WireTool = { readonly name: string; readonly inputSchema: { readonly type: 'object' } }
type ToolCall = { readonly name: string; readonly arguments: { readonly [key: string]: unknown } }

function progressOf(client: Client) {
  const listeners = new Map<unknown, Asker['onProgress'] & {}>()
  let count = 0
  client.setNotificationHandler('notifications/progress', ({ params: { progressToken, progress, total, message } }) =>
    listeners.get(progressToken)?.({ done: progress, ...defined({ total, message }) }),
  )
  return {
    listen(onProgress: Asker['onProgress'] & {}): number {
      count += 1
      listeners.set(count, onProgress)
      return count
    },
    forget: (token: number) => void listeners.delete(token),
  }
}

/** Baton reads and validates results itself. */
const anything = {
  '~standard': { version: 1, vendor: 'baton', validate: (value: unknown) => ({ value }) },
} as const

/** Delivers the messages of a process to whichever client is listening. */
export function createHub({ pid, send, listen }: Channel): { readonly transport: () => Transport } {
  let current: Transport | undefined
  listen({
    onMessage: (message) => current?.onmessage?.(flat(message as unknown as JSONRPCMessage)),
    onEnd: () => current?.onclose?.(),
  })
  return {
    transport(): Transport {
      const made: Transport & { readonly pid: number; readonly stderr: null } = {
        // the SDK recognizes a single-channel transport by these
        pid,
        stderr: null,
        start: async () => void (current = made),
        send: async (message) => send(message),
        close: async () => made.onclose?.(),
      }
      return made
    },
  }
}

/**
 * The same transport, but a request whose stream ends without an answer is answered with an error: otherwise it would
 * wait until its timeout.
 */
function answering(inner: StreamableHTTPClientTransport, wasTooLarge: () => boolean): Transport {
  const open = new Set<unknown>()
  const outer: Transport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId
    },
    async start() {
      inner.onclose = () => outer.onclose?.()
      inner.onerror = (error) => outer.onerror?.(error)
      inner.onmessage = (message) => {
        if (!('method' in message)) open.delete(message.id)
        outer.onmessage?.(flat(message))
      }
      await inner.start()
    },
    async send(message, options) {
      if (!('method' in message) || !('id' in message)) return inner.send(message, defined(options ?? {}))
      const { id } = message
      open.add(id)
      const onRequestStreamEnd = (): void => {
        options?.onRequestStreamEnd?.()
        if (!open.delete(id)) return
        const code = wasTooLarge() ? tooLarge : brokenStream
        outer.onmessage?.({ jsonrpc: '2.0', id, error: { code, message: 'the connection broke' } })
      }
      await inner.send(message, { ...defined(options ?? {}), onRequestStreamEnd })
    },
    close: () => inner.close(),
    setProtocolVersion: (given) => inner.setProtocolVersion(given),
  }
  return outer
}

/** A message without contents that are nested too deeply to be read: an answer becomes an error, so nobody waits for it. */
function flat(message: JSONRPCMessage): JSONRPCMessage {
  if (!isDeeper(message, maxJsonDepth)) return message
  const { jsonrpc } = message
  if ('method' in message) {
    const { method } = message
    return 'id' in message ? { jsonrpc, id: message.id, method } : { jsonrpc, method }
  }
  const error = { code: tooDeep, message: `its answer is nested deeper than ${maxJsonDepth} levels` }
  return { jsonrpc, id: message.id ?? 0, error }
}

/** The code of JSON-RPC for a message that cannot be read. */
const tooDeep = -32_700
