import { defined, type JsonObject } from '../../base/json.ts'
import { narrow, type RunContext } from '../../event/context.ts'
import { toolCallsOf } from '../../event/message.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, originOf, type Place } from '../../event/place.ts'
import type { ToolCall, ToolOutput } from '../../tool/toolbox/kind.ts'
import type { Child, Children } from './children.ts'

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
export function heldTo(filters: readonly ToolFilter[], context: RunContext): RunContext {
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
