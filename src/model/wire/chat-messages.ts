import type { JsonObject } from '../../base/json.ts'
import type { Message } from '../../event/message.ts'
import type { ModelRequest } from '../provider.ts'
import { schemaInstruction } from './instruct.ts'
import type { Quirks } from './quirks.ts'

/** More marks in one request are refused by the models that need them. */
const mostMarks = 4

/** The messages of a chat completion (R282), with what the host cannot be told in another way. */
export function chatMessages(request: ModelRequest, quirks: Quirks): readonly JsonObject[] {
  const { messages } = request
  const marked = quirks.cacheMarks ? marks(messages) : new Set<Message>()
  const written = messages.map((message) => chatMessage(message, { quirks, isMarked: marked.has(message) }))
  const { output } = request
  return output === undefined || quirks.structured === 'schema'
    ? written
    : instructed(written, schemaInstruction(output))
}

/** The messages whose mark is sent: one of the system messages, and of all others the last ones. */
function marks(messages: readonly Message[]): ReadonlySet<Message> {
  const found = messages.filter(({ cache, content }) => cache === true && content !== '')
  const system = found.findLast(({ role }) => role === 'system')
  const others = found.filter((message) => message !== system)
  if (system === undefined) return new Set(others.slice(-mostMarks))
  return new Set([system, ...others.slice(1 - mostMarks)])
}

interface Writing {
  readonly quirks: Quirks
  readonly isMarked: boolean
}

function chatMessage(message: Message, writing: Writing): JsonObject {
  const { role, tool_calls: calls = [], tool_call_id: callId } = message
  const content = contentOf(message, writing)
  if (role === 'tool') return { role, content, ...(callId === undefined ? {} : { tool_call_id: callId }) }
  const spoken = { role, ...speaker(message, writing) }
  if (calls.length === 0) return { ...spoken, content }
  return {
    ...spoken,
    content: content === '' ? null : content,
    ...(writing.quirks.replaysReasoning ? { reasoning_content: '' } : {}),
    tool_calls: calls.map(({ id, name, arguments: written }) => {
      return { id, type: 'function', function: { name, arguments: written } }
    }),
  }
}

/** Text alone stays a string, which every server takes; a mark or an attachment makes it a list of parts. */
function contentOf({ content, attachment }: Message, { isMarked }: Writing): string | readonly JsonObject[] {
  if (attachment === undefined && !isMarked) return content
  const text = { type: 'text', text: content }
  const parts = attachment === undefined ? [text] : [text, attachmentPart(attachment)]
  if (!isMarked) return parts
  // a mark covers what stands before it, so it belongs to the last part
  return parts.map((part, index) => {
    return index === parts.length - 1 ? { ...part, cache_control: { type: 'ephemeral' } } : part
  })
}

function attachmentPart({ name, mediaType, data }: NonNullable<Message['attachment']>): JsonObject {
  const url = `data:${mediaType};base64,${data}`
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  return { type: 'file', file: { filename: name, file_data: url } }
}

/** The name of who speaks, in the characters that the API takes. */
function speaker({ name }: Message, { quirks }: Writing): { readonly name?: string } {
  if (name === undefined || quirks.refusesExtras === true) return {}
  const sendable = name.replaceAll(/[^\w-]+/g, '_').slice(0, 64)
  return sendable === '' ? {} : { name: sendable }
}

/** Adds to the first system message, because many servers take no second one. */
function instructed(messages: readonly JsonObject[], instruction: string): readonly JsonObject[] {
  const index = messages.findIndex(({ role }) => role === 'system')
  const found = messages[index]
  if (found === undefined) return [{ role: 'system', content: instruction }, ...messages]
  const content = found['content']
  const extended = Array.isArray(content)
    ? [...(content as readonly JsonObject[]), { type: 'text', text: instruction }]
    : `${content as string}\n\n${instruction}`
  return messages.with(index, { ...found, content: extended })
}
