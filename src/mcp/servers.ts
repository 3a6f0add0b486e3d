import { type Clock, systemClock } from '../base/clock.ts'
import { atMost, manyListeners } from '../base/concurrency.ts'
import { commandEnvironment, givesAccess } from '../base/command.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import type { McpServer, McpServers } from '../event/mcp.ts'
import { namePattern } from '../tool/capabilities.ts'
import { ConnectionFailure } from './connection.ts'
import type { ChatServers } from './chat-servers.ts'
import { fullName } from './names.ts'
import { createServerLife, type LifeListener, type LifeOptions, type ServerLife } from './server-life.ts'

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
  /** Those that outlive the run; omitted: all end with it. */
  readonly kept?: ChatServers
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
 * The servers of a run. Each is started at its first use; `close` leaves none of their processes, except for those that
 * are kept.
 */
export function createMcpServers(options: McpServersOptions): McpServers {
  const { servers, env, signal, noteProcess, kept } = options
  const lives = new Map<string, ServerLife>()
  const detached: (() => void)[] = []
  let closing: Promise<void> | undefined

  function find(name: string): { readonly server: McpServer; readonly life: ServerLife } {
    const server = servers.find((one) => one.name === name)
    if (server === undefined) throw unknownServer(name, servers)
    const life = lives.get(name) ?? open(server)
    return { server, life }
  }

  function open(server: McpServer): ServerLife {
    const life = kept?.life(server, lifeOptions()) ?? createServerLife(server, lifeOptions())
    lives.set(server.name, life)
    detached.push(life.attach(listenerOf(server)))
    return life
  }

  function lifeOptions(): LifeOptions {
    return {
      version: options.version,
      env,
      environment: commandEnvironment(env, (variable) => !givesAccess(variable)),
      roots: options.roots,
      canAsk: options.canAsk ?? true,
      maxBytes: options.maxBytes ?? defaultMaxBytes,
      clock: options.clock ?? systemClock,
      authProvider: options.authProvider ?? (() => undefined),
    }
  }

  function listenerOf(server: McpServer): LifeListener {
    const name = fullName(server)
    return {
      onNotice: boundedNotices((level, text) => options.onNotice?.({ server: name, level, text })),
      onStart: (pid) => noteProcess?.(pid, name),
    }
  }

  async function closeAll(): Promise<void> {
    for (const detach of detached) detach()
    if (kept !== undefined) return
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
        const result = await life.use(`for ${tool}`, call, (connection, asker, limit) =>
          connection.call(tool, input, asker, limit),
        )
        return life.takeLoss() ? { ...result, isAfterLoss: true } : result
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

function boundedNotices(send: LifeListener['onNotice']): LifeListener['onNotice'] {
  let count = 0
  return (level, text) => {
    count += 1
    if (count === mostNotices) send('debug', 'it logs too much; the rest is not shown')
    // what a server says is one line, and no terminal obeys it
    if (count < mostNotices || level === 'warning') send(level, harmlessName(harmless(text.slice(0, longestNotice))))
  }
}
