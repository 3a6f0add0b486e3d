import { type Message, toolCallsOf } from '../../event/message.ts'

/**
 * The messages of a conversation as another one can begin with them (R32): without its system prompt, and without answers whose calls of
 * tools have no result, such as the one that starts the other. Hosts refuse those.
 */
export function forkedMessages(messages: readonly Message[]): readonly Message[] {
  return withoutOpenCalls(messages.filter(({ role }) => role !== 'system'))
}

/** Leaves out answers of which a call has no result behind it, with the results of their other calls. */
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
    // ids may come again in later turns
    let end = index
    while (messages[end]?.role === 'tool') end += 1
    const results = messages.slice(index, end)
    const answered = new Set(results.flatMap(({ parts }) => parts.flatMap((part) => ('id' in part ? [part.id] : []))))
    if (calls.every(({ id }) => answered.has(id))) kept.push(message, ...results)
    index = end
  }
  return kept
}
