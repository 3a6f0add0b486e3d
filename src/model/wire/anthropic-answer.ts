import type { FinishReason, ModelEvent } from '../provider.ts'
import { fieldsOf, listOf, textEvents, textOf } from './reading.ts'

/** The name of the answer, when the message has one. */
export function startEvents(message: unknown): readonly ModelEvent[] {
  const id = textOf(message, 'id')
  return id === '' ? [] : [{ type: 'start', id }]
}

/** A whole message as the events it would have been streamed as. */
export function messageEvents(message: unknown): readonly ModelEvent[] {
  const events = [...startEvents(message)]
  let calls = 0
  for (const block of listOf(message, 'content')) {
    for (const event of blockEvents(block, calls)) {
      events.push(event.type === 'tool_call' && event.arguments === '' ? { ...event, arguments: '{}' } : event)
    }
    if (textOf(block, 'type') === 'tool_use') calls += 1
  }
  return events
}

/** What a block holds, as events. In a stream that is what came when it began. `index`: of a tool call among all. */
export function blockEvents(block: unknown, index: number): readonly ModelEvent[] {
  switch (textOf(block, 'type')) {
    case 'text':
      return textEvents('text', textOf(block, 'text'))
    case 'thinking':
      return textEvents('reasoning', textOf(block, 'thinking'))
    case 'tool_use': {
      const input = fieldsOf(block, 'input')
      const written = Object.keys(input).length === 0 ? '' : JSON.stringify(input)
      return [{ type: 'tool_call', index, id: textOf(block, 'id'), name: textOf(block, 'name'), arguments: written }]
    }
    default:
      return []
  }
}

/** Why the model stopped; undefined while it has not said so. */
export function stopReason(delta: unknown): FinishReason | undefined {
  const reason = textOf(delta, 'stop_reason')
  switch (reason) {
    case '':
      return undefined
    case 'end_turn':
    case 'stop_sequence':
      return 'stop'
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'tool_use':
      return 'tool_calls'
    case 'refusal':
      return 'content_filter'
    case 'pause_turn':
      return 'incomplete'
    default:
      return 'other'
  }
}
