import { type Clock, systemClock } from '../base/clock.ts'
import { atMost, manyListeners, unlessAborted } from '../base/concurrency.ts'
import { commandEnvironment, givesAccess } from '../base/command.ts'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import type {
  McpAbout,
  McpCall,
  McpPrompt,
  McpResource,
  McpServer,
  McpServers,
  McpTool,
  McpTransport,
} from '../event/mcp.ts'
import { namePattern } from '../tool/capabilities.ts'
import {
  type Asker,
  type Connection,
  ConnectionFailure,
  type ConnectionProblem,
  type Listed,
  type ListName,
} from './connection.ts'
import { fullName } from './names.ts'
import { startPausableLimit } from '../base/pausable-limit.ts'
import { createMask } from '../journal/secrets.ts'
import { serverSecrets } from '../journal/server-secrets.ts'
import type { McpAuthProvider } from './wire/wire.ts'
import { mcpError } from './problems.ts'

export interface McpServersOptions extends Pick<LifeOptions, 'version' | 'env'> {
  readonly servers: readonly McpServer[]
  /** Folders that are reported to servers as roots: the workspace. Absolute. */
  readonly roots: readonly string[]
  /** Whether somebody may be able to answer questions of servers. Default: true. */
  readonly canAsk?: boolean
  /** Limit for one message of a server, in bytes. Default: 16 MB. */
  readonly maxBytes?: number
  readonly clock?: Clock
  /** Provides tokens for a server over HTTP. Default: none. */
  readonly authProvider?: LifeOptions['authProvider']
  /** Log messages of servers (`debug`), and oddities (`warning`). */
  readonly onNotice?: (notice: McpNotice) => void
  /**
   * Called with each process that is started, before it reads anything, so that a later process can end what a killed
   * one left.
   */
  readonly noteProcess?: (pid: number, server: string) => void
  /** Closes everything when aborted. */
  readonly signal: AbortSignal
}

export interface McpNotice {
  readonly server: string
  readonly level: 'debug' | 'warning'
  readonly text: string
}

const defaultMaxBytes = 16 * 1024 ** 2
/** Caps the log of a server that never stops logging. */
const mostNotices = 1_000
const longestNotice = 2_000
/** For closing all servers: TERM, KILL after 5 s, and some margin. */
const closeMs = 8_000

/**
 * The servers of a run. Each is started at its first use; `close` leaves none of their processes.
 */
export function createMcpServers(options: McpServersOptions): McpServers {
  const { servers, env, signal, noteProcess } = options
  const lives = new Map<string, ServerLife>()
  let closing: Promise<void> | undefined

  function find(name: string): { readonly server: McpServer; readonly life: ServerLife } {
    const server = servers.find((one) => one.name === name)
    if (server === undefined) throw unknownServer(name, servers)
    const life = lives.get(name) ?? createServerLife(server, lifeOptions(server))
    lives.set(name, life)
    return { server, life }
  }

  function lifeOptions(server: McpServer): LifeOptions {
    const name = fullName(server)
    return {
      version: options.version,
      env,
      environment: commandEnvironment(env, (variable) => !givesAccess(variable)),
      roots: options.roots,
      canAsk: options.canAsk ?? true,
      maxBytes: options.maxBytes ?? defaultMaxBytes,
      clock: options.clock ?? systemClock,
      authProvider: options.authProvider ?? (() => undefined),
      onNotice: boundedNotices((level, text) => options.onNotice?.({ server: name, level, text })),
      onStart: (pid) => noteProcess?.(pid, name),
    }
  }

  async function closeAll(): Promise<void> {
    await atMost(closeMs, Promise.all([...lives.values()].map((life) => life.close())))
  }

  const close = (): Promise<void> => (closing ??= closeAll())
  manyListeners(signal).addEventListener('abort', () => void close(), { once: true })

  return {
    servers,
    async tools(name, callSignal) {
      const { server, life } = find(name)
      return (await life.list('tools', callSignal)).filter((tool) => passes(server, tool.name))
    },
    resources: async (name, callSignal) => find(name).life.list('resources', callSignal),
    prompts: async (name, callSignal) => find(name).life.list('prompts', callSignal),
    async call(name, tool, input, call) {
      const { server, life } = find(name)
      if (!passes(server, tool)) throw filteredTool(server, tool)
      const { signal: stopped } = call
      try {
        return await life.use(`for ${tool}`, call, (connection, asker, limit) =>
          connection.call(tool, input, asker, limit),
        )
      } catch (error) {
        if (!isRefusal(error)) throw error
        const known = await life.list('tools', stopped).catch(() => [])
        throw known.some(({ name: own, onlyAsTask }) => own === tool && onlyAsTask)
          ? taskTool(server, tool, error)
          : error
      }
    },
    read: async (name, uri, call) =>
      find(name).life.use(`for ${uri}`, call, (connection, asker, limit) => connection.read(uri, asker, limit)),
    prompt: async (name, prompt, values, call) =>
      find(name).life.use(`for the prompt ${prompt}`, call, (connection, asker, limit) =>
        connection.prompt(prompt, values, asker, limit),
      ),
    about: (name) => lives.get(name)?.about(),
    close,
  }
}

/** Whether the filters of a server pass a tool, by the name that the server gives it. */
function passes({ tools, disallowedTools = [] }: McpServer, tool: string): boolean {
  const isNamed = (patterns: readonly string[]): boolean => patterns.some((pattern) => namePattern(pattern).test(tool))
  return (tools === undefined || isNamed(tools)) && !isNamed(disallowedTools)
}

function filteredTool(server: McpServer, tool: string): BatonError {
  const { origin } = server
  return new BatonError('MCP_FAILED', `the tool ${tool} of the MCP server ${fullName(server)} is filtered out`, {
    hint: `Check tools and disallowed_tools in ${origin}.`,
  })
}

/** The server answered, but not with a tool result. */
function isRefusal(error: unknown): boolean {
  const { cause } = isBatonError(error) ? error : {}
  return cause instanceof ConnectionFailure && ['refused', 'invalid'].includes(cause.problem.kind)
}

function taskTool(server: McpServer, tool: string, cause: unknown): BatonError {
  const name = fullName(server)
  return new BatonError(
    'MCP_FAILED',
    `the tool ${harmlessName(tool)} of the MCP server ${name} works only as a task of the protocol`,
    {
      hint: `Baton does not call tools as tasks. baton mcp tools ${name} marks the tools that require it; another tool, or another version of the server, may not.`,
      cause,
    },
  )
}

function unknownServer(name: string, servers: readonly McpServer[]): BatonError {
  const names = servers.map((server) => server.name)
  const close = nearest(name, names)
  const known = names.length === 0 ? 'No server is configured.' : `Configured servers: ${names.join(', ')}.`
  return new BatonError('MCP_FAILED', `there is no MCP server ${name}`, {
    hint: close === undefined ? known : `Did you mean ${close}?`,
  })
}

function boundedNotices(send: LifeOptions['onNotice']): LifeOptions['onNotice'] {
  let count = 0
  return (level, text) => {
    count += 1
    if (count === mostNotices) send('debug', 'it logs too much; the rest is not shown')
    // what a server says is one line, and no terminal obeys it
    if (count < mostNotices || level === 'warning') send(level, harmlessName(harmless(text.slice(0, longestNotice))))
  }
}

interface LifeOptions {
  /** Baton's version. */
  readonly version: string
  /** The environment of this process; secrets in it are masked. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Variables that programs get in addition to their own. */
  readonly environment: Readonly<Record<string, string>>
  readonly roots: readonly string[]
  readonly canAsk: boolean
  readonly maxBytes: number
  readonly clock: Clock
  /** `secrets`: the tokens that it has. */
  readonly authProvider: (
    server: McpServer,
    url: string,
  ) => (McpAuthProvider & { readonly secrets?: () => readonly string[] }) | undefined
  readonly onNotice: (level: 'debug' | 'warning', text: string) => void
  readonly onStart: (pid: number) => void
}

/** One server, from its first use until it is closed. */
interface ServerLife {
  list<Name extends ListName>(name: Name, signal: AbortSignal): Promise<readonly ItemOf[Name][]>
  /** Runs `work` with a connection. `doing`: what it does, for messages. */
  use<T>(
    doing: string,
    call: McpCall,
    work: (connection: Connection, asker: Asker, signal: AbortSignal) => Promise<T>,
  ): Promise<T>
  about(): McpAbout | undefined
  close(): Promise<void>
}

interface ItemOf {
  readonly tools: McpTool
  readonly resources: McpResource
  readonly prompts: McpPrompt
}

/** Waits before a server that ended is restarted, in milliseconds. */
const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface Kept {
  readonly list: Promise<Listed<unknown>>
  /** When it expires. */
  until: number
}

/**
 * Starts the server at its first use, once for concurrent callers, and restarts it after it ended, with growing waits.
 * Calls that were in flight are not repeated.
 */
function createServerLife(server: McpServer, options: LifeOptions): ServerLife {
  const { version, environment, roots, canAsk, maxBytes, clock, onNotice, onStart } = options
  const stop = new AbortController()
  manyListeners(stop.signal)
  let current: Promise<Connection> | undefined
  let open: Connection | undefined
  let failures = 0
  let waitUntil = 0
  /** Why the last start failed. */
  let startError: unknown
  let transport: McpTransport | undefined
  let isJunkTold = false
  const kept = new Map<ListName, Kept>()

  /** Masks what the server was given: it may send all of it back. */
  function hider(given: McpTransport): (text: string) => string {
    const provider = given.kind === 'stdio' ? undefined : options.authProvider(server, given.url)
    return hiderOf(given, { server, env: options.env, login: provider?.secrets?.() ?? [] })
  }

  function told(error: unknown, doing?: string): unknown {
    if (transport === undefined) return error
    return mcpError(error, { server, transport, doing, maxBytes, hide: hider(transport) })
  }

  function failed(): void {
    waitUntil = clock.monotonic() + Math.min(firstWaitMs * 2 ** failures, longestWaitMs)
    failures += 1
  }

  async function start(): Promise<Connection> {
    if (startError !== undefined && clock.monotonic() < waitUntil) throw startError
    await clock.sleep(Math.max(0, waitUntil - clock.monotonic()), stop.signal)
    transport = server.transport()
    const hide = hider(transport)
    const { connect } = await import('./session.ts')
    kept.clear()
    try {
      const connection = await connect(
        {
          transport,
          version,
          environment,
          roots,
          canAsk,
          canSample: server.sampling,
          startMs: server.startMs,
          maxBytes,
          authProvider: transport.kind === 'stdio' ? undefined : options.authProvider(server, transport.url),
          onStart,
          onListChanged: (list) => void kept.delete(list),
          onLog: (text) => onNotice('debug', hide(text)),
          onJunk(line) {
            if (isJunkTold) return
            isJunkTold = true
            const shown = JSON.stringify(hide(line.slice(0, 80)))
            onNotice('warning', `it writes lines that are not messages; they are skipped, the first one is ${shown}`)
          },
          onEnd,
        },
        stop.signal,
      )
      startError = undefined
      if (connection.ended() === undefined) open = connection
      return connection
    } catch (error) {
      current = undefined
      if (stop.signal.aborted) throw closedError()
      startError = told(error)
      failed()
      throw startError
    }
  }

  function onEnd(problem: ConnectionProblem): void {
    ;[open, current] = [undefined, undefined]
    kept.clear()
    if (problem.kind !== 'session_lost') failed()
    onNotice('debug', messageOf(told(new ConnectionFailure(problem), 'for nothing')))
  }

  function closedError(): BatonError {
    return new BatonError('MCP_FAILED', `the MCP server ${fullName(server)} was closed because the run ended`)
  }

  async function connected(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted()
    if (stop.signal.aborted) throw closedError()
    if (open !== undefined) return open
    current ??= start().catch((error: unknown) => {
      current = undefined
      throw error
    })
    return unlessAborted(current, signal)
  }

  async function use<T>(
    doing: string,
    call: McpCall,
    work: (connection: Connection, asker: Asker, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      const connection = await connected(call.signal)
      const limit = stoppingLimit(server.toolMs, call.signal)
      try {
        const result = await work(connection, askerOf(call, limit.without), limit.signal)
        failures = 0
        return result
      } catch (error) {
        call.signal.throwIfAborted()
        if (stop.signal.aborted) throw closedError()
        if (limit.isOver())
          throw told(
            new ConnectionFailure({ kind: 'slow_answer', ms: server.toolMs, limit: 'tool_timeout_sec' }),
            doing,
          )
        // the request was rejected before anything was done
        const isLost = error instanceof ConnectionFailure && error.problem.kind === 'session_lost'
        if (!isLost || attempt > 0) throw told(error, doing)
      } finally {
        limit.end()
      }
    }
  }

  function listFrom(connection: Connection, name: ListName): Promise<Listed<unknown>> {
    const limit = stoppingLimit(server.startMs, stop.signal)
    const listed: Promise<Listed<unknown>> = connection[name](limit.signal)
    return listed
      .catch((error: unknown) => {
        if (stop.signal.aborted) throw closedError()
        const failure = limit.isOver()
          ? new ConnectionFailure({ kind: 'slow_answer', ms: server.startMs, limit: 'startup_timeout_sec' })
          : error
        throw told(failure, `for its ${name}`)
      })
      .finally(() => limit.end())
  }

  async function freshList(name: ListName, signal: AbortSignal): Promise<Listed<unknown>> {
    const connection = await connected(signal)
    const found = kept.get(name)
    if (found !== undefined && clock.monotonic() < found.until) return unlessAborted(found.list, signal)
    const entry: Kept = { list: listFrom(connection, name), until: Infinity }
    kept.set(name, entry)
    entry.list.then(
      ({ keepMs }) => (entry.until = keepMs === undefined ? Infinity : clock.monotonic() + keepMs),
      () => kept.get(name) === entry && kept.delete(name),
    )
    return unlessAborted(entry.list, signal)
  }

  return {
    async list<Name extends ListName>(name: Name, signal: AbortSignal) {
      const { items } = await freshList(name, signal)
      return items as readonly ItemOf[Name][]
    },
    use,
    about: () => open?.about,
    async close() {
      stop.abort(closedError())
      const connection = await current?.catch(() => undefined)
      await connection?.close()
      ;[open, current] = [undefined, undefined]
    },
  }
}

/** Time that the user or a model takes to answer does not count for the server. */
function askerOf({ onProgress, onQuestion }: McpCall, without: <T>(work: () => Promise<T>) => Promise<T>): Asker {
  return {
    ...(onProgress !== undefined && { onProgress }),
    ...(onQuestion !== undefined && {
      onQuestion: (question, signal) => without(() => onQuestion(question, signal)),
    }),
  }
}

interface Given {
  readonly server: McpServer
  readonly env: LifeOptions['env']
  /** The tokens of its login. */
  readonly login: readonly string[]
}

/** Masks the secrets of the environment, and the server's own variables, headers, parameters and tokens. */
function hiderOf(transport: McpTransport, { server, env, login }: Given): (text: string) => string {
  const { name, secrets = () => ({ keys: [], values: {} }) } = server
  const { keys, values } = secrets()
  if (transport.kind === 'stdio') {
    const own = serverSecrets({ [name]: { env: transport.env } }, {})
    return createMask({ ...env, ...transport.env }, { keys, values: { ...values, ...own.values } }).hide
  }
  const headers = Object.entries(transport.headers).flatMap(([header, value]) => [
    [header, value],
    [`${header}#1`, value.replace(/^\w+ /, '')],
  ])
  const tokens = login.map((token, index) => [`${name}#${index + 1}`, token])
  const own = serverSecrets({ [name]: { url: transport.url } }, {})
  const all = { ...values, ...own.values, ...(Object.fromEntries([...headers, ...tokens]) as Record<string, string>) }
  return createMask(env, { keys, values: all }).hide
}

/** A limit whose signal is aborted when the time is up, or when `signal` is aborted. */
function stoppingLimit(ms: number, signal: AbortSignal) {
  const stop = new AbortController()
  let isOver = false
  // every call creates one, and AbortSignal.any takes eight times as long
  const onAbort = (): void => stop.abort(signal.reason)
  manyListeners(signal).addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const { without, end } = startPausableLimit(ms, () => {
    isOver = true
    stop.abort()
  })
  return {
    without,
    end: () => {
      end()
      signal.removeEventListener('abort', onAbort)
    },
    signal: manyListeners(stop.signal),
    isOver: () => isOver,
  }
}
