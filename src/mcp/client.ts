import { AsyncLocalStorage } from 'node:async_hooks'
import { pathToFileURL } from 'node:url'
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
import { longestTimer, startLimit } from '../base/clock.ts'
import { atMost, manyListeners } from '../base/concurrency.ts'
import { messageOf } from '../base/error.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { McpAnswer, McpQuestion, McpTool, McpTransport } from '../event/mcp.ts'
import { type BoundedFetch, createBoundedFetch, MessageTooLarge } from './bounded-fetch.ts'
import {
  type Asker,
  type Connection,
  ConnectionFailure,
  type ConnectionProblem,
  type Listed,
  type ListName,
} from './connection.ts'
import {
  itemsOf,
  promptMessageOf,
  promptOf,
  resourceContentOf,
  resourceOf,
  resultOf,
  templateOf,
  toolOf,
} from './from-wire.ts'
import { startStdio, type StdioServer } from './stdio.ts'

/** Gives the tokens of a server, and gets new ones. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider

export interface ConnectOptions {
  readonly transport: McpTransport
  /** Of this product, as the server is told. */
  readonly version: string
  /** What a program gets besides the variables of its own. */
  readonly environment: Readonly<Record<string, string>>
  /** Folders that servers are told of, absolute. */
  readonly roots: readonly string[]
  /** Whether there may be somebody who answers questions, and a model that does. */
  readonly canAsk: boolean
  readonly canSample: boolean
  /** For starting, connecting and shaking hands. */
  readonly startMs: number
  /** Of one message that the server sends. */
  readonly maxBytes: number
  readonly authProvider?: McpAuthProvider | undefined
  /** Called with the process that was started, before it has read anything. */
  readonly onStart: (pid: number) => void
  readonly onListChanged: (list: ListName) => void
  /** What the server logs, and what is odd about what it sends. */
  readonly onLog: (text: string) => void
  readonly onJunk: (line: string) => void
  /** Called once, when it ends after it was open and before it is closed. */
  readonly onEnd: (problem: ConnectionProblem) => void
}

const lists: readonly ListName[] = ['tools', 'resources', 'prompts']

/**
 * Starts or calls a server and shakes hands. Rejects with ConnectionFailure, and with the reason of the signal; nothing is left
 * of the server then.
 */
export async function connect(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted()
  const { transport, startMs } = options
  const session = createSession(options)
  let words = (): string => ''
  const limit = new AbortController()
  const endLimit = startLimit(startMs, () => limit.abort())
  const stop = manyListeners(AbortSignal.any([signal, limit.signal]))
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason as Error), { once: true })
  })
  stopped.catch(() => {})
  try {
    const opening = transport.kind === 'stdio' ? overStdio(transport) : session.overHttp(transport, stop)
    // an opening that is given up ends what it has begun
    opening.catch(() => {})
    return await Promise.race([opening, stopped])
  } catch (error) {
    await session.close()
    signal.throwIfAborted()
    if (limit.signal.aborted) throw new ConnectionFailure({ kind: 'slow_start', ms: startMs, words: words() })
    throw session.failureOf(error)
  } finally {
    endLimit()
  }

  async function overStdio(program: McpTransport & { readonly kind: 'stdio' }): Promise<Connection> {
    const server = await session.startProgram(program)
    words = server.words
    return session.overStdio(server)
  }
}

function createSession(options: ConnectOptions) {
  const { version, environment, roots, canAsk, canSample, maxBytes, authProvider } = options
  const { onStart, onListChanged, onLog, onJunk, onEnd } = options
  const calls = new AsyncLocalStorage<Asker>()
  const underWay = new Set<Asker>()
  /** What ends the connection, in order. */
  const endings: (() => Promise<void>)[] = []
  let client = newClient('legacy')
  let problem: ConnectionProblem | undefined
  let closing: Promise<void> | undefined
  let isOpen = false
  /** Definitions of tools that ask for parameters in headers. */
  let withHeaders: ReadonlyMap<string, WireTool> | undefined

  function newClient(mode: 'legacy' | 'auto'): Client {
    const made = new Client(
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
          lists.map((list) => [list, { autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged(list) }]),
        ),
      },
    )
    made.setRequestHandler('roots/list', () => ({
      roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: path })),
    }))
    // servers that have not said that they would tell are heard as well
    for (const list of lists) {
      made.setNotificationHandler(`notifications/${list}/list_changed`, () => onListChanged(list))
    }
    made.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      onLog(`${level}${logger === undefined ? '' : ` ${logger}`}: ${text}`)
    })
    if (canAsk) {
      made.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
        const answer = await ask(questionOf(params as unknown as JsonObject), mcpReq.signal)
        const content = answer.action === 'accept' ? answer.content : undefined
        return { action: answer.action, ...(content !== undefined && { content: content as FormValues }) }
      })
    }
    if (canSample) {
      made.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
        const answer = await ask({ kind: 'sampling', params: params as unknown as JsonObject }, mcpReq.signal)
        if (answer.action === 'accept') return (answer.content ?? {}) as unknown as SampledMessage
        throw new ProtocolError(-1, 'the request was declined')
      })
    }
    made.onerror = (error) => {
      if (isOpen && SseError.isInstance(error)) end({ kind: 'unreachable', reason: 'the stream of its events broke' })
      else if (problem === undefined && closing === undefined) onLog(`error: ${causeText(error)}`)
    }
    return made
  }

  /** Over HTTP a question comes in on the call that it belongs to; over one channel nothing says it, and the newest call is asked. */
  async function ask(question: McpQuestion, signal: AbortSignal): Promise<McpAnswer> {
    const asker = calls.getStore() ?? [...underWay].findLast(({ onQuestion }) => onQuestion !== undefined)
    return (await asker?.onQuestion?.(question, signal)) ?? { action: 'decline' }
  }

  function end(reason: ConnectionProblem): void {
    if (problem !== undefined || closing !== undefined) return
    problem = reason
    void client.close().catch(() => {})
    if (isOpen) onEnd(reason)
  }

  async function request(method: string, params: object, asker: Asker, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (problem !== undefined) throw new ConnectionFailure(problem)
    const { onProgress } = asker
    const sent = {
      signal: manyListeners(signal),
      timeout: longestTimer,
      ...(onProgress !== undefined && {
        onprogress: ({ progress, total, message }: Progressed) =>
          onProgress({ done: progress, ...defined({ total, message }) }),
      }),
    }
    underWay.add(asker)
    try {
      return await calls.run(asker, async () => {
        const tool = method === 'tools/call' ? await definitionOf(params as ToolCall, signal) : undefined
        if (tool !== undefined) return client.callTool(params as ToolCall, { ...sent, toolDefinition: tool })
        return client.request({ method, params: params as { readonly [key: string]: unknown } }, anything, sent)
      })
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error)
    } finally {
      underWay.delete(asker)
    }
  }

  /** The newer protocol wants some parameters as headers, which the definition of the tool says. */
  async function definitionOf({ name }: ToolCall, signal: AbortSignal): Promise<WireTool | undefined> {
    if (!needsHeaders()) return undefined
    if (withHeaders === undefined) await listTools(signal)
    return withHeaders?.get(name)
  }

  function needsHeaders(): boolean {
    return client.getProtocolEra() === 'modern' && client.transport?.hasPerRequestStream === true
  }

  /** Leaves out those whose headers are not allowed. */
  async function listTools(signal: AbortSignal): Promise<Listed<McpTool>> {
    try {
      const result =
        client.getServerCapabilities()?.tools === undefined
          ? { tools: [] }
          : await client.listTools(undefined, { signal, timeout: longestTimer, cacheMode: 'bypass' })
      const asking = result.tools.filter(({ inputSchema }) => JSON.stringify(inputSchema).includes('"x-mcp-header"'))
      withHeaders = new Map(asking.map(({ name, inputSchema }) => [name, { name, inputSchema }]))
      const { ttlMs } = result as { readonly ttlMs?: unknown }
      return { items: itemsOf(result, 'tools', toolOf), keepMs: typeof ttlMs === 'number' ? ttlMs : undefined }
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error)
    }
  }

  async function list<Item>(
    name: ListName,
    { method = `${name}/list`, field = name as string }: { readonly method?: string; readonly field?: string },
    read: (fields: { readonly [key: string]: unknown }) => Item | undefined,
    signal: AbortSignal,
  ): Promise<Listed<Item>> {
    if (client.getServerCapabilities()?.[name] === undefined && problem === undefined) {
      return { items: [], keepMs: undefined }
    }
    const items: Item[] = []
    const seen = new Set<unknown>()
    for (let cursor: string | undefined, keepMs: number | undefined; ;) {
      const page = await request(method, defined({ cursor }), {}, signal)
      items.push(...itemsOf(page, field, read))
      const { nextCursor, ttlMs } = isObject(page) ? page : {}
      if (typeof ttlMs === 'number') keepMs = Math.min(keepMs ?? Infinity, Math.max(0, ttlMs))
      if (typeof nextCursor !== 'string') return { items, keepMs }
      if (seen.has(nextCursor) || items.length > mostItems) {
        throw new ConnectionFailure({ kind: 'invalid', reason: `its list of ${name} does not end` })
      }
      seen.add(nextCursor)
      cursor = nextCursor
    }
  }

  function opened(): Connection {
    isOpen = true
    const { name = 'unnamed', version: serverVersion = '' } = client.getServerVersion() ?? {}
    const instructions = client.getInstructions()
    return {
      about: {
        name,
        version: serverVersion,
        ...defined({ instructions }),
        protocol: client.getNegotiatedProtocolVersion() ?? 'unknown',
        capabilities: (client.getServerCapabilities() ?? {}) as Json,
      },
      tools: async (signal) => {
        if (!needsHeaders()) return list('tools', {}, toolOf, signal)
        return listTools(signal)
      },
      async resources(signal) {
        const own = await list('resources', {}, resourceOf, signal)
        const method = 'resources/templates/list'
        const templates = await list('resources', { method, field: 'resourceTemplates' }, templateOf, signal).catch(
          withoutTemplates,
        )
        const keeps = [own, templates].flatMap(({ keepMs }) => keepMs ?? [])
        return {
          items: [...own.items, ...templates.items],
          keepMs: keeps.length === 0 ? undefined : Math.min(...keeps),
        }
      },
      prompts: (signal) => list('prompts', {}, promptOf, signal),
      async call(tool, input, asker, signal) {
        const result = resultOf(await request('tools/call', { name: tool, arguments: input }, asker, signal))
        return result ?? invalid('its answer is no result of a tool')
      },
      async read(uri, asker, signal) {
        const result = await request('resources/read', { uri }, asker, signal)
        if (!isObject(result) || !Array.isArray(result['contents'])) return invalid('its answer holds no contents')
        return itemsOf(result, 'contents', resourceContentOf)
      },
      async prompt(prompt, values, asker, signal) {
        const result = await request('prompts/get', { name: prompt, arguments: values }, asker, signal)
        if (!isObject(result) || !Array.isArray(result['messages'])) return invalid('its answer holds no messages')
        return itemsOf(result, 'messages', promptMessageOf)
      },
      ended: () => problem,
      close,
    }
  }

  async function leave(): Promise<void> {
    await client.close().catch(() => {})
    for (const ending of endings.toReversed()) await ending().catch(() => {})
  }

  function close(): Promise<void> {
    return (closing ??= leave())
  }

  async function startProgram(program: McpTransport & { readonly kind: 'stdio' }): Promise<StdioServer> {
    const { command, args, cwd, env } = program
    const server = await startStdio({
      command,
      args,
      cwd,
      environment: { ...environment, ...env },
      maxBytes,
      onStart,
      onMessage: (message) => channel.receive(message),
      onJunk,
      onEnd: (ending) => {
        end({ kind: 'ended', end: ending })
        channel.end()
      },
    })
    endings.push(server.close)
    // it was given up meanwhile
    if (closing !== undefined) await server.close()
    return server
  }
  const channel = createChannel()

  /**
   * Everybody answers the older handshake, or with an error: waiting for that needs no guess of how long a server may take that
   * ignores what it does not know, and some end when they get anything else first.
   */
  async function overStdio(server: StdioServer): Promise<Connection> {
    const wire = (): Transport => channel.transport(server)
    try {
      await client.connect(wire(), { timeout: longestTimer })
    } catch (error) {
      if (!ProtocolError.isInstance(error) || problem !== undefined || closing !== undefined) throw error
      client = newClient('auto')
      await client.connect(wire(), { timeout: longestTimer }).catch(() => {
        throw error
      })
    }
    return opened()
  }

  async function overHttp(
    { kind, url, headers, isNamed }: McpTransport & { readonly kind: 'http' | 'sse' },
    signal: AbortSignal,
  ): Promise<Connection> {
    const bounded = createBoundedFetch(maxBytes)
    endings.push(bounded.close)
    const address = new URL(url)
    const given = {
      requestInit: { headers },
      fetch: bounded.fetch as BoundedFetch['fetch'],
      ...defined({ authProvider }),
    }
    if (kind === 'sse') return overEvents()

    const streamable = (): StreamableHTTPClientTransport => {
      const made = new StreamableHTTPClientTransport(address, given)
      endings.push(
        async () => atMost(leaveMs, made.terminateSession()),
        () => made.close(),
      )
      return made
    }
    try {
      client = newClient('auto')
      await client.connect(answering(streamable()), { timeout: longestTimer })
    } catch (error) {
      signal.throwIfAborted()
      const status = statusOf(error)
      // some fail at a request that they do not know
      const isConfused = status !== undefined && status >= 500
      if (isConfused) {
        client = newClient('legacy')
        await client.connect(answering(streamable()), { timeout: longestTimer })
        return opened()
      }
      if (isNamed || status === undefined || ![400, 404, 405].includes(status)) throw error
      return overEvents().catch(() => {
        throw error
      })
    }
    return opened()

    async function overEvents(): Promise<Connection> {
      const made = new SSEClientTransport(address, given)
      endings.push(() => made.close())
      client = newClient('legacy')
      await client.connect(made, { timeout: longestTimer })
      return opened()
    }
  }

  function failureOf(error: unknown): ConnectionFailure {
    if (error instanceof ConnectionFailure) return error
    if (problem !== undefined) return new ConnectionFailure(problem, error)
    const found = problemOf(error)
    const session = client.transport?.sessionId
    const isLost = found.kind === 'http' && found.status === 404 && session !== undefined
    if (!isLost) return new ConnectionFailure(found, error)
    end({ kind: 'session_lost' })
    return new ConnectionFailure({ kind: 'session_lost' }, error)
  }

  return { startProgram, overStdio, overHttp, close, failureOf }
}

type WireTool = { readonly name: string; readonly inputSchema: { readonly type: 'object' } }
type ToolCall = { readonly name: string; readonly arguments: { readonly [key: string]: unknown } }
type FormValues = { readonly [key: string]: string | number | boolean | string[] }
type SampledMessage = {
  readonly model: string
  readonly role: 'assistant'
  readonly content: { readonly type: 'text'; readonly text: string }
}
interface Progressed {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** More than that nobody offers; a list that goes on for ever does. */
const mostItems = 10_000
/** How long a server has to hear that its session is over. */
const leaveMs = 1_000

/** Results are read by us. */
const anything = {
  '~standard': { version: 1, vendor: 'baton', validate: (value: unknown) => ({ value }) },
} as const

/** Many servers that have resources know nothing of templates. */
function withoutTemplates(error: unknown): Listed<never> {
  const isUnknown = error instanceof ConnectionFailure && error.problem.kind === 'refused'
  if (isUnknown) return { items: [], keepMs: undefined }
  throw error
}

function invalid(reason: string): never {
  throw new ConnectionFailure({ kind: 'invalid', reason })
}

function questionOf(params: JsonObject): McpQuestion {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name] : '')
  const message = text('message')
  if (params['mode'] === 'url') return { kind: 'url', message, url: text('url') }
  return { kind: 'form', message, schema: (params['requestedSchema'] ?? {}) as JsonObject }
}

/** What the messages of a process come in through, whichever client listens. */
function createChannel() {
  let current: Transport | undefined
  return {
    receive: (message: JsonObject) => current?.onmessage?.(message as unknown as JSONRPCMessage),
    end: () => current?.onclose?.(),
    transport({ pid, send }: StdioServer): Transport {
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
function answering(inner: StreamableHTTPClientTransport): Transport {
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
        outer.onmessage?.({ jsonrpc: '2.0', id, error: { code: brokenStream, message: 'the connection broke' } })
      }
      await inner.send(message, { ...defined(options ?? {}), onRequestStreamEnd })
    },
    close: () => inner.close(),
    setProtocolVersion: (given) => inner.setProtocolVersion(given),
  }
  return outer
}

/** Of no server: the protocol leaves these to implementations. */
const brokenStream = -32_099

function statusOf(error: unknown): number | undefined {
  if (SdkHttpError.isInstance(error)) return error.status
  return SseError.isInstance(error) ? error.code : undefined
}

function problemOf(error: unknown): ConnectionProblem {
  if (hasCause(error, (cause) => cause instanceof MessageTooLarge)) {
    return { kind: 'invalid', reason: 'a message of it is too large' }
  }
  if (UnauthorizedError.isInstance(error)) return { kind: 'http', status: 401, text: '' }
  const status = statusOf(error)
  if (status !== undefined) return { kind: 'http', status, text: httpText(error) }
  if (ProtocolError.isInstance(error)) {
    if (error.code === (brokenStream as ProtocolErrorCode)) return { kind: 'unreachable', reason: error.message }
    return { kind: 'refused', code: error.code, message: error.message }
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

function httpText(error: unknown): string {
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
