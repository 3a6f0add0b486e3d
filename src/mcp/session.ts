import { AsyncLocalStorage } from 'node:async_hooks'
import { startLimit } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'
import { defined, isObject } from '../base/json.ts'
import { sizeText } from '../base/size.ts'
import type { McpTransport } from '../event/mcp.ts'
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
import { openChannel, openHttp } from './wire/open.ts'
import type { Channel, Handlers, McpAuthProvider, Wire } from './wire/wire.ts'
import {
  type Asker,
  type Connection,
  ConnectionFailure,
  type ConnectionProblem,
  type Listed,
  type ListName,
} from './connection.ts'
import { startStdio, type StdioServer } from './stdio.ts'

export interface ConnectOptions extends Omit<Handlers, 'ask' | 'onBroken'> {
  readonly transport: McpTransport
  /** Variables that a program gets in addition to its own, and that name the proxy to servers with an address. */
  readonly environment: Readonly<Record<string, string>>
  /** Limit for starting, connecting and the handshake. */
  readonly startMs: number
  /** Limit for one message from the server. */
  readonly maxBytes: number
  readonly authProvider?: McpAuthProvider | undefined
  /** Called with the process that was started, before it reads anything. */
  readonly onStart: (pid: number) => void
  readonly onJunk: (line: string) => void
  /** Called once, if it ends after it was open and before it is closed. */
  readonly onEnd: (problem: ConnectionProblem) => void
}

/**
 * Starts a server or connects to it, and performs the handshake. Rejects with ConnectionFailure, and with the signal's
 * reason; nothing of the server is left then.
 */
export async function connect(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted()
  const { transport, startMs, onEnd, environment, maxBytes, authProvider } = options
  const questions = createQuestions()
  const handlers: Handlers = { ...options, ask: questions.ask, onBroken: end }
  let server: StdioServer | undefined
  let wire: Wire | undefined
  let problem: ConnectionProblem | undefined
  let closing: Promise<void> | undefined

  function end(reason: ConnectionProblem): void {
    if (problem !== undefined || closing !== undefined) return
    problem = reason
    void wire?.close()
    if (wire !== undefined) onEnd(reason)
  }

  async function leave(): Promise<void> {
    await wire?.close()
    await server?.close()
  }

  const close = (): Promise<void> => (closing ??= leave())

  async function open(stop: AbortSignal): Promise<Wire> {
    if (transport.kind !== 'stdio') return openHttp(transport, { maxBytes, authProvider, environment }, handlers, stop)
    let listener: Parameters<Channel['listen']>[0] | undefined
    const { command, args, cwd, env } = transport
    const started = await startStdio({
      ...options,
      command,
      args,
      cwd,
      environment: { ...environment, ...env },
      onMessage: (message) => listener?.onMessage(message),
      onEnd(ending) {
        end({ kind: 'ended', end: ending })
        listener?.onEnd()
      },
    })
    server = started
    return openChannel({ ...started, listen: (heard) => void (listener = heard) }, handlers, stop)
  }

  async function request(method: string, params: object, asker: Asker, called: AbortSignal): Promise<unknown> {
    called.throwIfAborted()
    if (problem !== undefined || wire === undefined) throw new ConnectionFailure(problem ?? { kind: 'session_lost' })
    const { request: send } = wire
    try {
      return await questions.during(asker, () => send(method, params, asker, called))
    } catch (error) {
      called.throwIfAborted()
      if (problem !== undefined) throw new ConnectionFailure(problem, error)
      if (error instanceof ConnectionFailure && error.problem.kind === 'session_lost') end(error.problem)
      throw error
    }
  }

  const limit = new AbortController()
  const endLimit = startLimit(startMs, () => limit.abort())
  try {
    wire = await open(manyListeners(AbortSignal.any([signal, limit.signal])))
  } catch (error) {
    await close()
    signal.throwIfAborted()
    if (limit.signal.aborted) {
      throw new ConnectionFailure({ kind: 'slow_start', ms: startMs, words: server?.words() ?? '' })
    }
    throw problem === undefined ? error : new ConnectionFailure(problem, error)
  } finally {
    endLimit()
  }
  return { ...connectionOf(wire, request), ended: () => problem, close }
}

/**
 * Routes questions of a server. Over HTTP a question arrives on the call that it belongs to; over a single channel
 * nothing identifies the call, and the newest one that can answer gets it.
 */
function createQuestions(): Pick<Handlers, 'ask'> & {
  readonly during: <T>(asker: Asker, work: () => Promise<T>) => Promise<T>
} {
  const calls = new AsyncLocalStorage<Asker>()
  const underWay = new Set<Asker>()
  return {
    async ask(question, signal) {
      const asker = calls.getStore() ?? [...underWay].findLast(({ onQuestion }) => onQuestion !== undefined)
      return (await asker?.onQuestion?.(question, signal)) ?? { action: 'decline' }
    },
    async during(asker, work) {
      underWay.add(asker)
      try {
        return await calls.run(asker, work)
      } finally {
        underWay.delete(asker)
      }
    },
  }
}

/** No real server offers more; only an endless list exceeds this. */
const mostItems = 10_000
const mostPages = 500
const mostCharacters = 64 * 1024 ** 2

function connectionOf({ about, has, keepMs }: Wire, request: Wire['request']): Omit<Connection, 'ended' | 'close'> {
  async function list<Item>(
    name: ListName,
    { method = `${name}/list`, field = name as string }: { readonly method?: string; readonly field?: string },
    read: (fields: { readonly [key: string]: unknown }) => Item | undefined,
    signal: AbortSignal,
  ): Promise<Listed<Item>> {
    if (!has(name)) return { items: [], keepMs: undefined }
    // by content: a server that ignores the cursor sends the same page again
    const items = new Map<string, Item>()
    const seen = new Set<string>()
    let characters = 0
    for (let cursor: string | undefined, shortest: number | undefined; ;) {
      const page = await request(method, defined({ cursor }), {}, signal)
      for (const item of itemsOf(page, field, read)) {
        const key = JSON.stringify(item)
        characters += key.length
        if (characters > mostCharacters)
          return invalid(`its list of ${name} is longer than ${sizeText(mostCharacters)}`)
        items.set(key, item)
      }
      const { nextCursor, ttlMs } = isObject(page) ? page : {}
      if (typeof ttlMs === 'number') shortest = Math.min(shortest ?? Infinity, ttlMs)
      // some servers end a list with an empty cursor, or with the one they were asked for
      if (typeof nextCursor !== 'string' || nextCursor === '' || seen.has(nextCursor)) {
        return { items: [...items.values()], keepMs: keepMs(name, shortest) }
      }
      if (seen.size >= mostPages || items.size > mostItems) {
        return invalid(`its list of ${name} has more than ${mostPages} pages or ${mostItems} entries`)
      }
      seen.add(nextCursor)
      cursor = nextCursor
    }
  }

  return {
    about,
    tools: (signal) => list('tools', {}, toolOf, signal),
    async resources(signal) {
      const own = await list('resources', {}, resourceOf, signal)
      const where = { method: 'resources/templates/list', field: 'resourceTemplates' }
      const templates = await list('resources', where, templateOf, signal).catch(withoutTemplates)
      const keeps = [own, templates].flatMap(({ keepMs }) => keepMs ?? [])
      return { items: [...own.items, ...templates.items], keepMs: keeps.length === 0 ? undefined : Math.min(...keeps) }
    },
    prompts: (signal) => list('prompts', {}, promptOf, signal),
    async call(tool, input, asker, signal) {
      const result = await request('tools/call', { name: tool, arguments: input }, asker, signal)
      return resultOf(result) ?? invalid('it is not a tool result')
    },
    async read(uri, asker, signal) {
      const result = await request('resources/read', { uri }, asker, signal)
      if (!isObject(result) || !Array.isArray(result['contents'])) return invalid('it has no contents')
      return itemsOf(result, 'contents', resourceContentOf)
    },
    async prompt(prompt, values, asker, signal) {
      const result = await request('prompts/get', { name: prompt, arguments: values }, asker, signal)
      if (!isObject(result) || !Array.isArray(result['messages'])) return invalid('it has no messages')
      return itemsOf(result, 'messages', promptMessageOf)
    },
  }
}

/** Many servers that have resources do not support templates. */
function withoutTemplates(error: unknown): Listed<never> {
  const isUnknown = error instanceof ConnectionFailure && error.problem.kind === 'refused'
  if (isUnknown) return { items: [], keepMs: undefined }
  throw error
}

function invalid(reason: string): never {
  throw new ConnectionFailure({ kind: 'invalid', reason })
}
