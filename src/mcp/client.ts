import {
  type AuthProvider,
  Client,
  type JSONRPCMessage,
  type OAuthClientProvider,
  ProtocolError,
  type ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { pathToFileURL } from 'node:url'
import { longestTimer } from '../base/clock.ts'
import { atMost, manyListeners, unlessAborted } from '../base/concurrency.ts'
import { type BatonError, isBatonError, messageOf } from '../base/error.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { McpAbout, McpAnswer, McpQuestion, McpTransport } from '../event/mcp.ts'
import { createBoundedFetch, MessageTooLarge } from './bounded-fetch.ts'
import {
  type Asker,
  type Authorizing,
  ConnectionFailure,
  type ConnectionProblem,
  type ListName,
  listNames,
} from './connection.ts'
import { keepHeaders } from './own-headers.ts'

// The one file that knows the package of the protocol: makes a `Wire` of it.

/** Gives the tokens of a server, and gets new ones. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider

/** What a server is told of us, and who listens to it. */
export interface Handlers {
  /** Of this product. */
  readonly version: string
  /** Folders, absolute. */
  readonly roots: readonly string[]
  /** Whether there may be somebody who answers questions, and a model that does. */
  readonly canAsk: boolean
  readonly canSample: boolean
  readonly ask: (question: McpQuestion, signal: AbortSignal) => Promise<McpAnswer>
  readonly onListChanged: (list: ListName) => void
  readonly onLog: (text: string) => void
  /** It cannot be used any more. */
  readonly onBroken: (problem: ConnectionProblem) => void
}

/** A server that has shaken hands. */
export interface Wire {
  readonly about: McpAbout
  /** Whether it has said that it has such a list. */
  readonly has: (list: ListName) => boolean
  /**
   * For how long a list may be kept of which it says this, in milliseconds; undefined: until it has changed. The older protocol says
   * nothing. In the newer one 0 is what servers say that know nothing better: where they tell of changes, that is better.
   */
  readonly keepMs: (list: ListName, ttlMs: number | undefined) => number | undefined
  /** Sends a request; of a list, for a page of it. Rejects with ConnectionFailure, also when the signal was aborted: the server is told. */
  readonly request: (method: string, params: object, asker: Asker, signal: AbortSignal) => Promise<unknown>
  /** Never rejects. */
  readonly close: () => Promise<void>
}

/** Where the messages of a process go in and out. */
export interface Channel {
  readonly pid: number
  readonly send: (message: object) => void
  /** Called once, when it has a listener. */
  readonly listen: (listener: { readonly onMessage: (message: JsonObject) => void; readonly onEnd: () => void }) => void
}

/**
 * Shakes hands over one channel. Everybody answers the older handshake, or with an error: waiting for that needs no guess of how
 * long a server may take that ignores what it does not know, and some end when they get anything else first. Rejects with
 * ConnectionFailure, and with the reason of the signal.
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

/**
 * Logs in at a server: `provider` sends the person to the authorization server, and keeps what comes of it. `not_needed`: the
 * server answers without. Rejects with ConnectionFailure, and with what the provider throws.
 */
export async function authorize({
  url,
  headers,
  provider,
  answer,
  signal,
}: Authorizing<McpAuthProvider>): Promise<'done' | 'not_needed'> {
  const bounded = createBoundedFetch(mostLoginBytes)
  const address = new URL(url)
  const fetch = keepHeaders(bounded.fetch, address, headers)
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
    throw ownError(error) ?? new ConnectionFailure({ kind: 'invalid', reason: messageOf(error) }, error)
  } finally {
    await bounded.close()
  }
}

/** Of what a login exchanges. */
export const mostLoginBytes = 1024 ** 2

/** What a provider of ours has thrown. */
function ownError(error: unknown): BatonError | undefined {
  if (isBatonError(error)) return error
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : undefined
}

type HttpTransport = McpTransport & { readonly kind: 'http' | 'sse' }

/**
 * Connects over HTTP: with the newer protocol, else with the older one, else with the older form of events, unless the form was
 * named. Rejects with ConnectionFailure, and with the reason of the signal.
 */
export async function openHttp(
  { kind, url, headers, isNamed }: HttpTransport,
  { maxBytes, authProvider }: { readonly maxBytes: number; readonly authProvider: McpAuthProvider | undefined },
  handlers: Handlers,
  signal: AbortSignal,
): Promise<Wire> {
  const bounded = createBoundedFetch(maxBytes)
  const address = new URL(url)
  const fetch = keepHeaders(bounded.fetch, address, headers)
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
      // it connects again by itself, to a server that knows nothing of us
      if (!SseError.isInstance(error)) return
      handlers.onBroken({ kind: 'unreachable', reason: 'the stream of its events broke' })
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
      // some fail at a request that they do not know
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
    throw failureOf(error)
  }
}

/** How long a server has to hear that its session is over. */
const leaveMs = 1_000

/** Nothing is left of the transport when it rejects. */
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
      // makes the newer protocol listen
      listChanged: Object.fromEntries(
        listNames.map((list) => [list, { autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged(list) }]),
      ),
    },
  )
  client.setRequestHandler('roots/list', () => ({
    roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: path })),
  }))
  // servers that have not said that they would tell are heard as well
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

function wireOf(
  client: Client,
  { onListChanged }: Pick<Handlers, 'onListChanged'>,
  close: () => Promise<void> = () => client.close(),
): Wire {
  const { name = 'unnamed', version = '' } = client.getServerVersion() ?? {}
  const instructions = client.getInstructions()
  const capabilities = client.getServerCapabilities() ?? {}
  /** In the newer protocol a tool may want parameters as headers, which its definition says. */
  const needsHeaders = client.getProtocolEra() === 'modern' && client.transport?.hasPerRequestStream === true
  let withHeaders: ReadonlyMap<string, WireTool> | undefined
  const progress = progressOf(client)
  const subscription = client.getProtocolEra() === 'modern' ? client.autoOpenedSubscription : undefined
  let isListening = subscription !== undefined
  void subscription?.closed.then((cause) => {
    isListening = false
    // what has changed meanwhile nobody tells
    if (cause !== 'local') for (const list of listNames) onListChanged(list)
  })

  /** Leaves out those whose headers are not allowed. */
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
    // the package forgets who listens as soon as the answer is there, which may come in one piece with the last of it
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

/** Results are read by us. */
const anything = {
  '~standard': { version: 1, vendor: 'baton', validate: (value: unknown) => ({ value }) },
} as const

/** What the messages of a process come in through, whichever client listens. */
function createHub({ pid, send, listen }: Channel) {
  let current: Transport | undefined
  listen({
    onMessage: (message) => current?.onmessage?.(message as unknown as JSONRPCMessage),
    onEnd: () => current?.onclose?.(),
  })
  return {
    transport(): Transport {
      const made: Transport & { readonly pid: number; readonly stderr: null } = {
        // by these it is known as one that has one channel for everything
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
 * The same transport, where a request whose stream ends without an answer is answered with an error: it would be waited for until
 * its time is over.
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
        outer.onmessage?.(message)
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

/** Of no server: the protocol leaves these to implementations. */
const brokenStream = -32_099 as ProtocolErrorCode
const tooLarge = -32_098 as ProtocolErrorCode

function failureOf(error: unknown): ConnectionFailure {
  return error instanceof ConnectionFailure ? error : new ConnectionFailure(problemOf(error), error)
}

function statusOf(error: unknown): number | undefined {
  if (SdkHttpError.isInstance(error)) return error.status
  return SseError.isInstance(error) ? error.code : undefined
}

function problemOf(error: unknown): ConnectionProblem {
  if (hasCause(error, (cause) => cause instanceof MessageTooLarge)) {
    return { kind: 'too_large' }
  }
  // a login that is known is not enough, and nobody is there to log in
  if (UnauthorizedError.isInstance(error) || ownError(error)?.code === 'KEY_MISSING') {
    return { kind: 'http', status: 401, text: '' }
  }
  const status = statusOf(error)
  if (status !== undefined) return { kind: 'http', status, text: httpText(error) }
  if (ProtocolError.isInstance(error)) {
    if (error.code === brokenStream) return { kind: 'unreachable', reason: error.message }
    if (error.code === tooLarge) return { kind: 'too_large' }
    return { kind: 'refused', code: error.code, message: [error.message, ...addressesIn(error.data)].join(' ') }
  }
  if (SdkError.isInstance(error)) {
    const { code, message, data } = error
    if (code === SdkErrorCode.EraNegotiationFailed && isObject(data) && data['cause'] !== undefined) {
      return problemOf(data['cause'])
    }
    if (code === SdkErrorCode.ConnectionClosed) return { kind: 'unreachable', reason: 'the connection was closed' }
    return { kind: 'invalid', reason: message }
  }
  return { kind: 'unreachable', reason: causeText(error) }
}

/** Where a person has to go before a call is made again. */
function addressesIn(data: unknown): readonly string[] {
  const wanted =
    isObject(data) && Array.isArray(data['elicitations']) ? (data['elicitations'] as readonly unknown[]) : []
  return wanted.flatMap((one) => (isObject(one) && typeof one['url'] === 'string' ? [one['url']] : []))
}

/** What a server says of a failure; for a redirect that is not followed, where it leads. */
function httpText(error: unknown): string {
  const redirect = /(?:Redirect .*?)(?= \(redirectPolicy|$)/.exec(messageOf(error))?.[0]
  if (redirect !== undefined) return redirect
  const data = SdkHttpError.isInstance(error) ? error.data['text'] : undefined
  return typeof data === 'string' ? data : messageOf(error)
}

/** Node says `fetch failed`, and what failed in the cause. */
function causeText(error: unknown): string {
  const { cause } = error instanceof Error ? error : {}
  if (cause instanceof AggregateError && cause.errors.length > 0) return messageOf(cause.errors[0])
  return cause instanceof Error && cause.message !== '' ? causeText(cause) : messageOf(error)
}

function hasCause(error: unknown, test: (error: unknown) => boolean): boolean {
  return test(error) || (error instanceof Error && error.cause !== undefined && hasCause(error.cause, test))
}
