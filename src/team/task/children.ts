import { unlessAborted } from '../../base/concurrency.ts'
import { isSuspension, stopsRun } from '../../base/error.ts'
import { emit, narrow, type RunContext, withServices } from '../../event/context.ts'
import type { Inbox, InboxMessage } from '../../event/inbox.ts'
import { liveChild, stopWaiting } from './child.ts'
import { type ChildEnd, notWorking, type Order, type Working } from './order.ts'
import { noticeText } from './texts.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { toolCallsOf } from '../../event/message.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, originOf, type Place } from '../../event/place.ts'
import type { ToolCall, ToolOutput } from '../../tool/toolbox/kind.ts'

/** An agent that works for a conversation. */
export interface Child extends Pick<Working, 'saidSoFar' | 'spentSoFar'> {
  readonly order: Order
  /** Rejects with a suspension, an error that ends the run, or the reason of the signal. */
  readonly ended: Promise<ChildEnd>
  readonly state: () => ChildState
  /** Ends it for good and waits for that. A no-op for an agent that has ended. */
  readonly stop: () => Promise<void>
}

type ChildState =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly end: ChildEnd }
  /** It waits for the user, or rejected without an end. */
  | { readonly kind: 'broken'; readonly error: unknown }

/** The agents that work for one conversation. */
export interface Children {
  /** Messages of the background agents: one each, when it has ended. */
  readonly inbox: Inbox
  /** Starts an agent at the place of the context. */
  readonly start: (order: Order, context: RunContext) => Child
  readonly find: (id: string) => Child | undefined
  readonly all: () => readonly Child[]
  /**
   * Called when the conversation has ended. If it succeeded, background agents are stopped for good. If it failed, they
   * stop without an end, so that a resumed run continues them. If it is suspended, they work until they have ended or
   * are suspended, too.
   */
  readonly close: (failure: unknown) => Promise<void>
}

/** `context` is that of the conversation: agents in the background end with it. */
export function createChildren(context: RunContext): Children {
  const { signal } = context.services
  const abandon = new AbortController()
  const children = new Map<string, Child>()
  const arrived = new Map<string, InboxMessage>()
  const known = new Set<string>()

  const background = (): readonly Child[] => [...children.values()].filter(({ order }) => order.isBackground)
  const runningIn = (some: readonly Child[]): readonly Child[] => some.filter(({ state }) => state().kind === 'running')

  /** The error of a background agent, of the wanted kind. */
  function broken(isMeant: (error: unknown) => boolean): { readonly error: unknown } | undefined {
    for (const { state } of background()) {
      const now = state()
      if (now.kind === 'broken' && isMeant(now.error)) return now
    }
    return undefined
  }

  function refuseBroken(): void {
    const found = broken((error) => stopsRun(error) && !isSuspension(error))
    if (found !== undefined) throw found.error
  }

  function start(order: Order, given: RunContext): Child {
    const stop = new AbortController()
    const own = order.isBackground ? withServices(given, { signal: AbortSignal.any([signal, abandon.signal]) }) : given
    let working = notWorking
    let state: ChildState = { kind: 'running' }
    const ended = liveChild(order, { context: own, stop: stop.signal, onBegin: (begun) => (working = begun) })
    const settled = ended.then(end, (error: unknown) => void (state = { kind: 'broken', error }))

    function end(how: ChildEnd): void {
      state = { kind: 'ended', end: how }
      if (!order.isBackground || known.has(order.id)) return
      arrived.set(order.id, { id: order.id, text: noticeText(order, how) })
    }

    const child: Child = {
      order,
      ended,
      state: () => state,
      saidSoFar: () => working.saidSoFar(),
      spentSoFar: () => working.spentSoFar(),
      async stop() {
        stop.abort(new DOMException('stopped', 'AbortError'))
        await settled
        if (state.kind === 'broken' && isSuspension(state.error)) end(await stopWaiting(order, own, working))
      },
    }
    children.set(order.id, child)
    return child
  }

  async function settle(): Promise<void> {
    await Promise.allSettled(background().map(({ ended }) => ended))
  }

  return {
    start,
    find: (id) => children.get(id),
    all: () => [...children.values()],
    inbox: {
      isOpen() {
        refuseBroken()
        return background().length > 0
      },
      waiting: () => [...arrived.values()],
      know(ids) {
        for (const id of ids) {
          known.add(id)
          arrived.delete(id)
        }
      },
      async next(until) {
        for (;;) {
          refuseBroken()
          if (arrived.size > 0) return true
          const running = runningIn(background())
          if (running.length === 0) break
          await unlessAborted(Promise.race(running.map(({ ended }) => ended.catch(() => undefined))), until)
        }
        const suspended = broken(isSuspension)
        if (suspended !== undefined) throw suspended.error
        return false
      },
    },
    async close(failure) {
      if (failure !== undefined || signal.aborted) {
        if (!isSuspension(failure)) abandon.abort(new DOMException('its caller has failed', 'AbortError'))
        return settle()
      }
      const left = background().filter(({ state }) => state().kind !== 'ended')
      await Promise.all(left.map(({ stop }) => stop()))
      if (left.length === 0) return
      const names = left.map(({ order: { id, description } }) => `${id} (${description})`).join(', ')
      emit(context, {
        type: 'warning',
        message: `stopped background agents, because the conversation has ended: ${names}`,
      })
    },
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

interface Stopping {
  readonly tool: string
  /** The id as the model gave it. */
  readonly id: string
  readonly inbox: Children['inbox']
  /** Stops the agent and returns the text for the model. */
  readonly stop: () => Promise<string>
}

/** Stops an agent by a recorded call. The agent is stopped in a replay, too, and its end counts as delivered. */
export async function stopByCall(
  child: Child,
  { tool, id, inbox, stop }: Stopping,
  { context, at, permit }: Pick<ToolCall, 'context' | 'at' | 'permit'>,
): Promise<ToolOutput> {
  const input = { id }
  const output = await context.services.effects.perform<ToolOutput>(
    callPlace(at, 0),
    { kind: 'tool', request: { tool, input }, action: { kind: 'tool', tool, input }, repeat: 'safe' },
    async () => ({ text: await stop() }),
    permit,
  )
  // in a replay the recorded result is returned while the agent may be working again
  await child.stop()
  inbox.know([child.order.id])
  return output
}
