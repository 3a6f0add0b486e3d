import { setTimeout as wait } from 'node:timers/promises'
import { BatonError } from '../../src/base/error.ts'
import type { JsonObject } from '../../src/base/json.ts'
import type { McpCall, McpResult, McpServer, McpServers, McpTool } from '../../src/event/mcp.ts'

/** What a fake server offers and does. */
export interface FakeServer extends Partial<Pick<McpServer, 'isTrusted' | 'defersTools'>> {
  readonly tools: readonly (Pick<McpTool, 'name'> & Partial<McpTool>)[]
  /** The result of a call; default: the tool and its input as JSON. */
  readonly answer?: (tool: string, input: JsonObject, call: McpCall) => McpResult | Promise<McpResult>
  /** Why it cannot be started. */
  readonly broken?: string
}

export interface FakeMcp extends McpServers {
  /** Calls that have reached a server, in order, as `server tool {"input":1}`. */
  readonly calls: readonly string[]
  /** The servers that were started, once per start. */
  readonly started: readonly string[]
  /** Calls in flight: `now`, and `most`, the peak number. */
  readonly underway: { readonly now: number; readonly most: number }
}

/** Servers in this process, which start when they are first used. */
export function fakeMcp(servers: { readonly [name: string]: FakeServer }): FakeMcp {
  const calls: string[] = []
  const started: string[] = []
  const running = new Set<string>()
  const underway = { now: 0, most: 0 }

  function serverOf(name: string): FakeServer {
    const server = servers[name]
    if (server === undefined) throw new Error(`no server ${name} in this test`)
    if (server.broken !== undefined) {
      throw new BatonError('MCP_FAILED', `the MCP server ${name} cannot be started: ${server.broken}`, {
        hint: 'Look at its command.',
      })
    }
    if (!running.has(name)) started.push(name)
    running.add(name)
    return server
  }

  return {
    calls,
    started,
    underway,
    servers: Object.entries(servers).map(([name, { isTrusted = false, defersTools }]) => ({
      name,
      transport: () => ({ kind: 'stdio', command: 'none', args: [], env: {}, cwd: '/' }),
      startMs: 1000,
      toolMs: 1000,
      isTrusted,
      ...(defersTools === undefined ? {} : { defersTools }),
      sampling: false,
      origin: 'test',
    })),
    async tools(name) {
      return serverOf(name).tools.map((tool) => ({ input: { type: 'object' }, ...tool }))
    },
    resources: async () => [],
    prompts: async () => [],
    async call(name, tool, input, call) {
      const { answer = echoed } = serverOf(name)
      call.signal.throwIfAborted()
      calls.push(`${name} ${tool} ${JSON.stringify(input)}`)
      underway.now += 1
      underway.most = Math.max(underway.most, underway.now)
      await wait(1)
      try {
        return await answer(tool, input, call)
      } finally {
        underway.now -= 1
      }
    },
    read: async (_, uri) => [{ uri, text: `content of ${uri}` }],
    prompt: async (_, name) => [{ role: 'user', content: { type: 'text', text: name } }],
    about: () => undefined,
    close: async () => running.clear(),
  }
}

function echoed(tool: string, input: JsonObject): McpResult {
  return { content: [{ type: 'text', text: `${tool} ${JSON.stringify(input)}` }] }
}
