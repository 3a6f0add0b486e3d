import type { ModelTimeouts } from './call.ts'

type Dispatcher = NonNullable<RequestInit['dispatcher']>

/** Limits of one connection in milliseconds; 0: none. */
interface AgentLimits {
  readonly connect: { readonly timeout: number }
  readonly headersTimeout: number
  readonly bodyTimeout: number
}

/** The limits that Node's `fetch` has when nobody says otherwise. */
const nodeLimits = { connectMs: 10_000, silenceMs: 300_000 }

/** So that our own limit, which says what it is, comes first. */
const margin = 1_000

/**
 * What `fetch` needs so that our limits hold where they are longer than Node's own; undefined where they are not, or
 * where somebody has put something of their own (a proxy) in the place of Node's agent: its limits hold then.
 */
export function patientDispatcher({ connectMs, headersMs, streamIdleMs }: ModelTimeouts): Dispatcher | undefined {
  if (connectMs <= nodeLimits.connectMs && Math.max(headersMs, streamIdleMs) <= nodeLimits.silenceMs) return undefined
  return createDispatcher({ connect: { timeout: connectMs + margin }, headersTimeout: 0, bodyTimeout: 0 })
}

/** An agent of the kind that Node's `fetch` uses. Its package is inside Node and cannot be imported. */
export function createDispatcher(limits: AgentLimits): Dispatcher | undefined {
  // the first use of `fetch` or its classes puts the agent there
  void new Request('http://localhost')
  const agent = (globalThis as { readonly [key: symbol]: unknown })[Symbol.for('undici.globalDispatcher.1')]
  if (typeof agent !== 'object' || agent === null || agent.constructor.name !== 'Agent') return undefined
  const Agent = agent.constructor as new (limits: AgentLimits) => Dispatcher
  return new Agent(limits)
}
