import type { Clock } from '../base/clock.ts'
import { manyListeners, unlessAborted } from '../base/concurrency.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { startPausableLimit } from '../base/pausable-limit.ts'
import type { McpAbout, McpCall, McpPrompt, McpResource, McpServer, McpTool, McpTransport } from '../event/mcp.ts'
import { createMask } from '../journal/secrets.ts'
import { serverSecrets } from '../journal/server-secrets.ts'
import {
  type Asker,
  type Connection,
  ConnectionFailure,
  type ConnectionProblem,
  type Listed,
  type ListName,
} from './connection.ts'
import { fullName } from './names.ts'
import { mcpError } from './problems.ts'
import type { McpAuthProvider } from './wire/wire.ts'

/** Who hears of a server at the moment: the run that uses it. */
export interface LifeListener {
  readonly onNotice: (level: 'debug' | 'warning', text: string) => void
  /** Called with the process that was started, before it reads anything. */
  readonly onStart: (pid: number) => void
}

export interface LifeOptions {
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
  /** What must have ended before it is started; omitted: nothing. */
  readonly after?: Promise<void>
  /** Takes the place of one that was used, with what that one kept in memory lost. */
  readonly isAnew?: true
}

/** What a server does now. `failed`: its last start failed; `ended`: it was running. */
export type LifeState =
  | { readonly kind: 'unused' | 'starting' | 'connected' }
  | { readonly kind: 'failed' | 'ended'; readonly reason: string }

/** One server, from its first use until it is closed. */
export interface ServerLife {
  /**
   * Lets a run hear of it, until the returned function is called. What failed for an earlier one is tried again at once.
   */
  attach(listener: LifeListener): () => void
  list<Name extends ListName>(name: Name, signal: AbortSignal): Promise<readonly ItemOf[Name][]>
  /** Runs `work` with a connection. `doing`: what it does, for messages. */
  use<T>(
    doing: string,
    call: McpCall,
    work: (connection: Connection, asker: Asker, signal: AbortSignal) => Promise<T>,
  ): Promise<T>
  about(): McpAbout | undefined
  state(): LifeState
  /**
   * Whether it has lost what it kept in memory since the last call of this: it ended and was started again. A reader
   * tells whoever relied on that.
   */
  takeLoss(): boolean
  /** Whether its last call took longer than its limit, and nothing has come from it since. */
  isStuck(): boolean
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

interface CachedList {
  readonly list: Promise<Listed<unknown>>
  /** When it expires. */
  until: number
}

/**
 * Starts the server at its first use, once for concurrent callers, and restarts it after it ended, with growing waits.
 * Calls that were in flight are not repeated.
 */
export function createServerLife(server: McpServer, options: LifeOptions): ServerLife {
  const { version, environment, roots, canAsk, maxBytes, clock } = options
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
  const kept = new Map<ListName, CachedList>()
  let listener: LifeListener | undefined
  /** Its process; undefined: it has none now. */
  let pid: number | undefined
  let endReason: string | undefined
  let hasLost = options.isAnew === true
  let isLossTold = false
  let isStuck = false

  function onStart(started: number): void {
    pid = started
    listener?.onStart(started)
  }

  /** Masks what the server was given: it may send all of it back. */
  function hider(given: McpTransport): (text: string) => string {
    const provider = given.kind === 'stdio' ? undefined : options.authProvider(server, given.url)
    return hiderOf(given, { server, env: options.env, login: provider?.secrets?.() ?? [] })
  }

  function asMcpError(error: unknown, doing?: string): unknown {
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
    await options.after
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
          onLog: (text) => listener?.onNotice('debug', hide(text)),
          onJunk(line) {
            if (isJunkTold) return
            isJunkTold = true
            const shown = JSON.stringify(hide(line.slice(0, 80)))
            listener?.onNotice(
              'warning',
              `it writes lines that are not messages; they are skipped, the first one is ${shown}`,
            )
          },
          onEnd,
        },
        stop.signal,
      )
      startError = undefined
      if (hasLost && !isLossTold) {
        isLossTold = true
        listener?.onNotice('warning', restartText(endReason))
      }
      endReason = undefined
      if (connection.ended() === undefined) open = connection
      return connection
    } catch (error) {
      ;[current, pid] = [undefined, undefined]
      if (stop.signal.aborted) throw closedError()
      startError = asMcpError(error)
      failed()
      throw startError
    }
  }

  function onEnd(problem: ConnectionProblem): void {
    ;[open, current, pid] = [undefined, undefined, undefined]
    kept.clear()
    if (problem.kind !== 'session_lost') {
      failed()
      hasLost = true
    }
    endReason = messageOf(asMcpError(new ConnectionFailure(problem), 'for nothing'))
    listener?.onNotice('debug', endReason)
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
        ;[failures, isStuck] = [0, false]
        return result
      } catch (error) {
        call.signal.throwIfAborted()
        if (stop.signal.aborted) throw closedError()
        if (limit.isOver()) {
          isStuck = true
          throw asMcpError(
            new ConnectionFailure({ kind: 'slow_answer', ms: server.toolMs, limit: 'tool_timeout_sec' }),
            doing,
          )
        }
        // the request was rejected before anything was done
        const isLost = error instanceof ConnectionFailure && error.problem.kind === 'session_lost'
        if (!isLost || attempt > 0) throw asMcpError(error, doing)
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
        throw asMcpError(failure, `for its ${name}`)
      })
      .finally(() => limit.end())
  }

  async function freshList(name: ListName, signal: AbortSignal): Promise<Listed<unknown>> {
    const connection = await connected(signal)
    const found = kept.get(name)
    if (found !== undefined && clock.monotonic() < found.until) return unlessAborted(found.list, signal)
    const entry: CachedList = { list: listFrom(connection, name), until: Infinity }
    kept.set(name, entry)
    entry.list.then(
      ({ keepMs }) => (entry.until = keepMs === undefined ? Infinity : clock.monotonic() + keepMs),
      () => kept.get(name) === entry && kept.delete(name),
    )
    return unlessAborted(entry.list, signal)
  }

  function state(): LifeState {
    if (open !== undefined) return { kind: 'connected' }
    if (current !== undefined) return { kind: 'starting' }
    if (startError !== undefined) return { kind: 'failed', reason: messageOf(startError) }
    return endReason === undefined ? { kind: 'unused' } : { kind: 'ended', reason: endReason }
  }

  return {
    attach(next) {
      listener = next
      if (open === undefined) [startError, waitUntil, failures] = [undefined, 0, 0]
      if (pid !== undefined) next.onStart(pid)
      return () => {
        if (listener === next) listener = undefined
      }
    },
    async list<Name extends ListName>(name: Name, signal: AbortSignal) {
      const { items } = await freshList(name, signal)
      return items as readonly ItemOf[Name][]
    },
    use,
    about: () => open?.about,
    state,
    takeLoss() {
      const isLoss = hasLost && open !== undefined
      if (isLoss) [hasLost, isLossTold] = [false, false]
      return isLoss
    },
    isStuck: () => isStuck,
    async close() {
      stop.abort(closedError())
      const connection = await current?.catch(() => undefined)
      await connection?.close()
      if (connection !== undefined) endReason ??= 'it was closed'
      ;[open, current, pid] = [undefined, undefined, undefined]
    },
  }
}

/** @param end how it ended; undefined: another one has taken its place */
function restartText(end: string | undefined): string {
  if (end === undefined) return 'it was started anew: its definition has changed, or it had stopped answering'
  const how = / ((?:ended|was (?:killed|stopped)) .*?) when asked for nothing/.exec(end)?.[1]
  return `it was started again, because it ${how ?? 'had ended'}`
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

interface SecretSources {
  readonly server: McpServer
  readonly env: LifeOptions['env']
  /** The tokens of its login. */
  readonly login: readonly string[]
}

/** Masks the secrets of the environment, and the server's own variables, headers, parameters and tokens. */
function hiderOf(transport: McpTransport, { server, env, login }: SecretSources): (text: string) => string {
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
