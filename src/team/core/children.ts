import { systemClock } from '../../base/clock.ts'
import { emit, narrow, type RunContext, withServices } from '../../event/context.ts'
import type { Inbox } from '../../event/inbox.ts'
import { type AgentWork, leaderId, type PieceEnd, type Team } from '../../event/collab.ts'
import { createCoordinator } from './coordinator.ts'
import { liveChild, stopWaiting } from './life.ts'
import { type ChildEnd, notWorking, type Order, type Working } from './order.ts'
import { noticeText } from './texts.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { toolCallsOf } from '../../event/message.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, originOf, type Place } from '../../event/place.ts'
import type { ToolCall, ToolOutput } from '../../tool/toolbox/kind.ts'

/** An agent that works once: when it has ended, another one may continue its conversation. */
export interface Child extends Pick<Working, 'saidSoFar' | 'spentSoFar'> {
  readonly order: Order
  /** Rejects with a suspension, an error that ends the run, or the reason of the signal. */
  readonly ended: Promise<ChildEnd>
  readonly state: () => ChildState
  /** How it ended, also if it was stopped while it waited for the user. Rejects like `ended`. */
  readonly end: () => Promise<ChildEnd>
  /** Ends it for good and waits for that. A no-op for an agent that has ended. */
  readonly stop: () => Promise<void>
}

type ChildState =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly end: ChildEnd }
  /** It waits for the user, or rejected without an end. */
  | { readonly kind: 'broken'; readonly error: unknown }

/** The agents that work for one conversation. Those in the background are a team. */
export interface Children {
  readonly team: Team
  /** Messages of the background agents: one each, when it has ended. */
  readonly inbox: Inbox
  /** Starts an agent at the place of the context. `role`: what it is called in its team; default: its agent. */
  readonly start: (order: Order, context: RunContext, role?: string) => Child
  readonly find: (id: string) => Child | undefined
  readonly all: () => readonly Child[]
  /**
   * Called when the conversation has ended. If it succeeded, background agents are stopped for good. If it failed, they
   * stop without an end, so that a resumed run continues them. If it is suspended, they work until they have ended or
   * are suspended, too.
   */
  readonly close: (failure: unknown) => Promise<void>
}

interface ChildrenOptions {
  /** After this time without progress of any of them their caller is notified. Default: never. */
  readonly stallAfterMs?: number
  readonly nameOf?: (id: string) => string
}

/** `context` is that of the conversation: agents in the background end with it. */
export function createChildren(
  context: RunContext,
  { stallAfterMs = Infinity, nameOf }: ChildrenOptions = {},
): Children {
  const { signal } = context.services
  // callers refuse what is too much, so nobody waits for a slot
  const settings = { maxAgents: Infinity, maxDepth: 1, onStall: 'tell', stallAfterMs } as const
  const team = createCoordinator({ settings, clock: systemClock, ...defined({ nameOf }) })
  const children = new Map<string, Child>()

  function start(order: Order, given: RunContext, role: string = order.offered.name): Child {
    const { id, isBackground, prompt } = order
    const own = isBackground ? withServices(given, { signal: AbortSignal.any([signal, team.abandoned]) }) : given
    const halt = new AbortController()
    const stopNow = (): void => halt.abort(new DOMException('stopped', 'AbortError'))
    let working = notWorking
    let state: ChildState = { kind: 'running' }
    const setEnd = (end: ChildEnd): ChildEnd => {
      state = { kind: 'ended', end }
      return end
    }
    const ended = liveChild(order, { context: own, stop: halt.signal, onBegin: (begun) => (working = begun) })
    const settled = ended.then(setEnd, (error: unknown) => void (state = { kind: 'broken', error }))

    const child: Child = {
      order,
      ended,
      state: () => state,
      end: async () => (state.kind === 'ended' ? state.end : ended),
      saidSoFar: () => working.saidSoFar(),
      spentSoFar: () => working.spentSoFar(),
      async stop() {
        if (isBackground) return void (await team.close(id, leaderId))
        stopNow()
        await settled
      },
    }
    children.set(id, child)
    if (!isBackground) return child
    const message = { id: `start/${id}`, from: leaderId, text: prompt, interrupts: false }
    const work: AgentWork = {
      begin: async (arrive) => (state.kind === 'ended' && state.end.status === 'stopped' ? undefined : arrive()),
      async piece(_mail, { stop, live }) {
        stop.addEventListener('abort', stopNow, { once: true })
        // it has begun: whatever it does is recorded as its one piece of work
        void live().catch(() => undefined)
        return pieceEndOf(await ended)
      },
      withdraw: async () => void setEnd(await stopWaiting(order, own, working)),
    }
    const notice = (): string => (state.kind === 'ended' ? noticeText(order, state.end) : '')
    team.spawn({ id, parent: leaderId, depth: 1, role, message, work, notice: { id, text: notice } })
    return child
  }

  return {
    team,
    start,
    find: (id) => children.get(id),
    all: () => [...children.values()],
    inbox: team.inboxOf(leaderId),
    async close(failure) {
      const left = [...children.values()].filter(({ order, state }) => order.isBackground && state().kind !== 'ended')
      const hasFailed = failure !== undefined || signal.aborted
      await team.end(hasFailed ? (failure ?? signal.reason) : undefined)
      if (hasFailed || left.length === 0) return
      const names = left.map(({ order: { id, description } }) => `${id} (${description})`).join(', ')
      emit(context, {
        type: 'warning',
        message: `stopped background agents, because the conversation has ended: ${names}`,
      })
    },
  }
}

function pieceEndOf({ status, text, error }: ChildEnd): PieceEnd {
  switch (status) {
    case 'done':
      return { kind: 'completed', text }
    case 'failed':
      return { kind: 'errored', message: error?.message ?? text }
    case 'stopped':
      return { kind: 'stopped' }
  }
}

/** The place where a call was originally made: the work of an agent there is not part of the calling conversation. */
export function placeOfWork({ at }: Pick<ToolCall, 'at'>): Place {
  return originOf(at.slice(0, -1))
}

/** The options that an agent inherits from the conversation that starts it unless its definition sets them. */
export function inheritedBy({ context: { scope, services } }: Pick<ToolCall, 'context'>): JsonObject {
  const { write, asks = false } = scope.rights
  return defined({ model: services.conversation?.model, write_mode: write && asks ? 'ask' : write }) as JsonObject
}

/** The same context, limited to the tools that pass all filters. */
export function limitTools(filters: readonly ToolFilter[], context: RunContext): RunContext {
  return filters.reduce((one, tools) => narrow(one, { tools }), context)
}

/** How many later calls of this tool the same answer has; 0 for a call of a program, where that is unknown. */
export function callsBehind(tool: string, { at, context: { services } }: Pick<ToolCall, 'at' | 'context'>): number {
  const answer = services.conversation?.messages().at(-1)
  const own = at.findLast(({ kind }) => kind === 'tool')
  if (answer?.role !== 'assistant' || own?.kind !== 'tool') return 0
  return toolCallsOf(answer)
    .slice(own.index + 1)
    .filter(({ name }) => name === tool).length
}

/** The effect of a call that ends an agent. The agent is ended again in a resumed run and in a replay. */
export function performEnd<Value>(
  { tool, id }: { readonly tool: string; readonly id: string },
  { context, at, permit }: Pick<ToolCall, 'context' | 'at' | 'permit'>,
  act: () => Promise<Value>,
): Promise<Value> {
  const input = { id }
  return context.services.effects.perform<Value>(
    callPlace(at, 0),
    { kind: 'tool', request: { tool, input }, action: { kind: 'tool', tool, input }, repeat: 'safe' },
    act,
    permit,
  )
}

interface Stopping {
  readonly tool: string
  /** The id as the model gave it. */
  readonly id: string
  readonly inbox: Inbox
  /** Stops the agent and returns the text for the model. */
  readonly stop: () => Promise<string>
}

/** Stops an agent that works once by a recorded call, and its end counts as delivered. */
export async function stopByCall(
  child: Child,
  { tool, id, inbox, stop }: Stopping,
  call: Pick<ToolCall, 'context' | 'at' | 'permit'>,
): Promise<ToolOutput> {
  const output = await performEnd({ tool, id }, call, async () => ({ text: await stop() }))
  // in a replay the recorded result is returned while the agent may be working again
  await child.stop()
  inbox.know([child.order.id])
  return output
}
