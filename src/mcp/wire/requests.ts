import { longestTimer } from '../../base/clock.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { defined, type Json } from '../../base/json.ts'
import { type Asker, ConnectionFailure, listNames } from '../connection.ts'
import { failureOf } from './failures.ts'
import type { Client } from './sdk.ts'
import type { Handlers, Wire } from './wire.ts'

/** Sends requests to a server after the handshake. */
export function wireOf(
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
