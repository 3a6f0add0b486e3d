import type { ModelEvent } from '../provider.ts'
import { fieldsOf, listOf, textOf, type Fields } from './reading.ts'

export interface ToolPieces {
  /** How many tool calls have begun. */
  readonly begun: number
  readonly events: readonly ModelEvent[]
}

/**
 * The pieces of tool calls in a `delta` or `message`. Pieces without an index, which some servers send, belong to the
 * last call, or begin one when they have an id. A call that is given no id gets one, because its result has to name it.
 */
export function toolPieces(delta: Fields, begunBefore: number): ToolPieces {
  let begun = begunBefore
  const events = listOf(delta, 'tool_calls').map((piece): ModelEvent => {
    const index = indexOf(piece, begun)
    const isFirst = index >= begun
    begun = Math.max(begun, index + 1)
    const written = argumentsOf(piece)
    if (!isFirst) return { type: 'tool_call', index, arguments: written }
    const id = textOf(piece, 'id') || `call_${index}`
    return { type: 'tool_call', index, id, name: textOf(fieldsOf(piece, 'function'), 'name'), arguments: written }
  })
  return { begun, events }
}

function indexOf(piece: unknown, begun: number): number {
  const index = fieldsOf({ piece }, 'piece')['index']
  if (typeof index === 'number' && Number.isInteger(index) && index >= 0) return index
  return textOf(piece, 'id') === '' ? Math.max(begun - 1, 0) : begun
}

/** JSON as text; a few servers send the object itself. */
function argumentsOf(piece: unknown): string {
  const written = fieldsOf(piece, 'function')['arguments']
  if (typeof written === 'string') return written
  return written === undefined || written === null ? '' : JSON.stringify(written)
}
