import { type Message, toolCallsOf } from '../../event/message.ts'

/**
 * The messages of a conversation as the start of another one (R32): without the system prompt, and without answers that
 * have tool calls without results, such as the call that starts the agent. Hosts reject those.
 */
export function forkedMessages(messages: readonly Message[]): readonly Message[] {
  return withoutOpenCalls(messages.filter(({ role }) => role !== 'system'))
}

/** Omits each answer that has a call without a later result, along with the results of its other calls. */
export function withoutOpenCalls(messages: readonly Message[]): readonly Message[] {
  const kept: Message[] = []
  for (let index = 0; index < messages.length;) {
    const message = messages[index] as Message
    index += 1
    const calls = toolCallsOf(message)
    if (calls.length === 0) {
      kept.push(message)
      continue
    }
    // later turns may reuse ids
    let end = index
    while (messages[end]?.role === 'tool') end += 1
    const results = messages.slice(index, end)
    const answered = new Set(results.flatMap(({ parts }) => parts.flatMap((part) => ('id' in part ? [part.id] : []))))
    if (calls.every(({ id }) => answered.has(id))) kept.push(message, ...results)
    index = end
  }
  return kept
}
