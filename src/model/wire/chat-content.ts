import { isObject } from '../../base/json.ts'
import type { ModelEvent } from '../provider.ts'
import { listOf, textOf, type Fields } from './reading.ts'

/** The reasoning and the text of a `delta` or `message`; undefined when its content is in a form that is not known. */
export function contentEvents(delta: Fields): ModelEvent[] | undefined {
  const events: ModelEvent[] = []
  const reasoning = delta['reasoning_content'] ?? delta['reasoning']
  if (typeof reasoning === 'string' && reasoning !== '') events.push({ type: 'reasoning', text: reasoning })
  const content = delta['content'] ?? ''
  if (typeof content === 'string') {
    const text = content || textOf(delta, 'refusal')
    if (text !== '') events.push({ type: 'text', text })
    return events
  }
  if (!Array.isArray(content)) return undefined
  for (const part of content as readonly unknown[]) {
    const event = partEvent(part)
    if (event === undefined) return undefined
    if (event.text !== '') events.push(event)
  }
  return events
}

/** Parts are what Mistral sends when a model thinks: `{ type: 'thinking', thinking: [{ type: 'text', text }] }`. */
function partEvent(part: unknown): Extract<ModelEvent, { readonly text: string }> | undefined {
  if (!isObject(part)) return undefined
  if (part['type'] === 'text' && typeof part['text'] === 'string') return { type: 'text', text: part['text'] }
  if (part['type'] !== 'thinking') return undefined
  const thoughts = listOf(part, 'thinking').map((thought) => textOf(thought, 'text'))
  return { type: 'reasoning', text: thoughts.join('') }
}
