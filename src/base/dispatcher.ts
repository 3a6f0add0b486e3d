import type { proxyConnector } from './proxy.ts'

export type Dispatcher = NonNullable<RequestInit['dispatcher']>

/** Limits of one connection in milliseconds, 0: none; and how it is made, if not by Node. */
interface AgentLimits {
  readonly connect: { readonly timeout: number } | ReturnType<typeof proxyConnector>
  readonly headersTimeout: number
  readonly bodyTimeout: number
}

/** An agent of the kind that Node's `fetch` uses. Its package is inside Node and cannot be imported. */
export function createDispatcher(limits: AgentLimits): Dispatcher | undefined {
  // the agent exists once `fetch` or one of its classes has been used
  void new Request('http://localhost')
  const agent = (globalThis as { readonly [key: symbol]: unknown })[Symbol.for('undici.globalDispatcher.1')]
  if (typeof agent !== 'object' || agent === null || agent.constructor.name !== 'Agent') return undefined
  const Agent = agent.constructor as new (limits: AgentLimits) => Dispatcher
  return new Agent(limits)
}
