import { defined, type JsonObject } from '../../base/json.ts'
import { narrow, type RunContext } from '../../event/context.ts'
import { toolCallsOf } from '../../event/message.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, originOf, type Place } from '../../event/place.ts'
import type { ToolCall, ToolOutput } from '../../tool/toolbox/kind.ts'
import type { Child, Children } from './children.ts'

/** The place of a call, where it was made: what an agent does there is not part of the conversation that calls it. */
export function placeOfWork({ at }: Pick<ToolCall, 'at'>): Place {
  return originOf(at.slice(0, -1))
}

/** What an agent has from the conversation that starts it, where nobody says otherwise. */
export function inheritedBy({ context: { scope, services } }: Pick<ToolCall, 'context'>): JsonObject {
  const { write, asks = false } = scope.rights
  return defined({ model: services.conversation?.model, write_mode: write && asks ? 'ask' : write }) as JsonObject
}

/** The same context with no tools but those that all filters let through. */
export function heldTo(filters: readonly ToolFilter[], context: RunContext): RunContext {
  return filters.reduce((one, tools) => narrow(one, { tools }), context)
}

/** Calls of this tool that stand behind this one in the same answer; of a program, nobody knows them. */
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
  /** As the model named it. */
  readonly id: string
  readonly inbox: Children['inbox']
  /** Stops it, and says what the model is told. */
  readonly stop: () => Promise<string>
}

/** Stops an agent by a call, which is recorded; whatever the record says, it works no more, and its end is told. */
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
  // where a record answers it may work again
  await child.stop()
  inbox.know([child.order.id])
  return output
}
