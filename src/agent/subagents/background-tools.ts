import { modelText } from '../../base/model-text.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'
import type { JsonObject } from '../../base/json.ts'
import { callPlace } from '../../event/place.ts'
import { defineTool, type ToolKind } from '../../tool/toolbox/kind.ts'
import { stopByCall } from './calls.ts'
import type { Child, Children } from './children.ts'
import { answerText, failureText, spentText } from './texts.ts'

const idParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  description: modelText`The id that task returned, such as a1b2c3d4e.`,
}
const mostSeconds = 600

/** The tool `task_output`. What it sees is recorded as an observation. */
export function outputKind(children: Children): ToolKind {
  return defineTool<{ readonly id: string; readonly wait_seconds?: number }>({
    name: 'task_output',
    description: modelText`Show whether an agent is working or how it ended, its output so far, and its cost.`,
    parameters: {
      type: 'object',
      properties: {
        id: idParameter,
        wait_seconds: {
          type: 'number',
          minimum: 0,
          maximum: mostSeconds,
          description: modelText`Seconds to wait for its end; default: 0.`,
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
    callsOthers: true,
    async run({ id, wait_seconds: seconds = 0 }, { context, at }) {
      const { effects, signal } = context.services
      const child = children.find(id)
      if (child === undefined) return { text: unknownAgent(id, children), isError: true }
      const { text, ended } = await effects.observeAsync(
        callPlace(at, 0),
        { name: 'task_output', args: { id } },
        async () => {
          if (seconds > 0)
            await unlessAborted(
              atMost(
                seconds * 1000,
                child.ended.catch(() => undefined),
              ),
              signal,
            )
          return stateOf(child)
        },
      )
      // the result of this call reports the end to the model
      if (ended) children.inbox.know([id])
      return { text }
    },
  })
}

function stateOf(child: Child): { readonly text: string; readonly ended: boolean } {
  const { order } = child
  const state = child.state()
  const who = `agent ${order.id} (${order.description})`
  switch (state.kind) {
    case 'running':
      return {
        ended: false,
        text: modelText`${who} is working: ${spentText(child.spentSoFar())}\n${child.saidSoFar()}`.trimEnd(),
      }
    case 'broken':
      return {
        ended: false,
        text: modelText`${who} is waiting for the user: ${spentText(child.spentSoFar())}\n${child.saidSoFar()}`.trimEnd(),
      }
    case 'ended': {
      const { end } = state
      const text = end.status === 'done' ? `${who} is done: ${answerText(order, end)}` : failureText(order, end)
      return { ended: true, text: `${text}\n[${spentText(end.spent)}]` }
    }
  }
}

/** The tool `task_stop`. */
export function stopKind(children: Children): ToolKind {
  return defineTool<{ readonly id: string }>({
    name: 'task_stop',
    description: modelText`Stop a background agent. Its output so far becomes its result.`,
    parameters: {
      type: 'object',
      properties: { id: idParameter },
      required: ['id'],
      additionalProperties: false,
    },
    callsOthers: true,
    async run({ id }, call) {
      const child = children.find(id)
      if (child === undefined) return { text: unknownAgent(id, children), isError: true }
      const stop = async (): Promise<string> => {
        const before = child.state()
        if (before.kind !== 'ended') await child.stop()
        const state = child.state()
        if (state.kind !== 'ended') return modelText`agent ${id} was stopped`
        if (state.end.status === 'stopped') return failureText(child.order, state.end)
        return modelText`agent ${id} had already ended: task_output shows how`
      }
      return stopByCall(child, { tool: 'task_stop', id, inbox: children.inbox, stop }, call)
    },
  })
}

/** The text for a model that names an agent which this conversation did not start. */
export function unknownAgent(id: string, children: Children): string {
  const known = children.all().map(({ order }) => order.id)
  return modelText`there is no agent ${id} in this conversation${known.length === 0 ? ': none was started' : `; known agents: ${known.join(', ')}`}`
}
