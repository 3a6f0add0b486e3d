import { join } from 'node:path'
import type { McpServer, McpServers } from '../../src/event/mcp.ts'
import { createMcpServers, type McpNotice, type McpServersOptions } from '../../src/mcp/servers.ts'
import type { Switches } from '../fixtures/mcp/core.mjs'
import { type ServedMcp, serveMcp } from '../fixtures/mcp/http.mjs'

export type { Switches }

/** A program that serves over stdio, run by node: `[node, ...args]` is its form in settings. */
function serverArguments(switches: Switches = {}): readonly string[] {
  return [join(import.meta.dirname, '../fixtures/mcp/stdio.mjs'), JSON.stringify(switches)]
}

/** A scripted server over stdio, in the form of settings. */
export function stdioServer(
  switches: Switches = {},
  { env = {}, ...rest }: Partial<McpServer> & { readonly env?: Readonly<Record<string, string>> } = {},
): McpServer {
  const [command, args] = [process.execPath, serverArguments(switches)]
  return serverOf({ transport: () => ({ kind: 'stdio', command, args, env, cwd: import.meta.dirname }), ...rest })
}

/** A server over HTTP at an address. */
export function httpServer(
  url: string,
  {
    headers = {},
    kind = 'http',
    isNamed = false,
    ...rest
  }: Partial<McpServer> & {
    readonly headers?: Readonly<Record<string, string>>
    readonly kind?: 'http' | 'sse'
    readonly isNamed?: boolean
  } = {},
): McpServer {
  return serverOf({ transport: () => ({ kind, url, headers, isNamed }), ...rest })
}

function serverOf(given: Partial<McpServer> & Pick<McpServer, 'transport'>): McpServer {
  const defaults = { name: 'test', startMs: 20_000, toolMs: 20_000, isTrusted: false, sampling: false }
  return { ...defaults, origin: 'baton.toml:3', ...given }
}

/** A scripted server over HTTP, on loopback. */
export const serveHttp: (switches?: Switches) => Promise<ServedMcp> = serveMcp

export interface TestServers extends McpServers, AsyncDisposable {
  readonly notices: readonly McpNotice[]
  /** The processes that were started. */
  readonly pids: readonly number[]
}

/** The service with these servers; it is closed with the test. */
export function testServers(servers: readonly McpServer[], options: Partial<McpServersOptions> = {}): TestServers {
  const notices: McpNotice[] = []
  const pids: number[] = []
  const service = createMcpServers({
    servers,
    version: '0.0.0',
    env: { PATH: process.env['PATH'] },
    roots: [import.meta.dirname],
    onNotice: (notice) => void notices.push(notice),
    noteProcess: (pid) => void pids.push(pid),
    signal: new AbortController().signal,
    ...options,
  })
  return { ...service, notices, pids, [Symbol.asyncDispose]: () => service.close() }
}
