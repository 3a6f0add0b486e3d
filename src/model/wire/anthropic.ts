import type { JsonObject } from '../../base/json.ts'
import {
  textOf,
  toolCallsOf,
  type FilePart,
  type Message,
  type MessagePart,
  type ToolResultPart,
} from '../../event/message.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { parseMessage } from './anthropic-answer.ts'
import { effortSettings, takesThinking } from './anthropic-thinking.ts'
import type { WireFormat } from './format.ts'
import { callInput, callName, namedParts, providerData, schemaInstruction } from './request-parts.ts'

/** Anthropic's own Messages API. The base URL ends in `/v1`. */
export const anthropicFormat: WireFormat = {
  name: 'anthropic',
  path: () => '/messages',
  keyHeaders: (apiKey) => ({ 'x-api-key': apiKey }),
  headers: { 'anthropic-version': '2023-06-01' },
  body: messagesBody,
  parser: parseMessage,
}

/**
 * The body of a streaming Messages request. System messages go to the top, wherever they appear. A schema for the
 * answer is requested in words at the end of the system text. This API does not support `seed`, so it is omitted.
 */
function messagesBody(request: ModelRequest): JsonObject {
  const { model, messages, output } = request
  const marked = markCached({ system: systemBlocks(messages), turns: turnsOf(messages, model) })
  const asked = output === undefined ? [] : [{ type: 'text', text: schemaInstruction(output) }]
  const system = [...marked.system, ...asked]
  return {
    model,
    ...effortSettings(request),
    ...(system.length === 0 ? {} : { system }),
    messages: marked.messages,
    ...toolSettings(request),
    stream: true,
  }
}

/**
 * The API refuses a conversation with tool calls if no tools are given, so tools that are no longer offered are
 * declared, but cannot be called.
 */
function toolSettings({ tools = [], messages }: ModelRequest): JsonObject {
  if (tools.length > 0) return { tools: tools.map(toolOf) }
  const called = new Set(messages.flatMap((message) => toolCallsOf(message).map(({ name }) => callName(name))))
  if (called.size === 0) return {}
  const gone = [...called].map((name) =>
    toolOf({ name, description: 'Not available.', parameters: { type: 'object' } }),
  )
  return { tools: gone, tool_choice: { type: 'none' } }
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return { name, description, input_schema: parameters }
}

/** A content block, and whether the provider may keep everything up to it. */
interface Block {
  readonly content: JsonObject
  readonly cache: boolean
}

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly blocks: readonly Block[]
}

function systemBlocks(messages: readonly Message[]): readonly Block[] {
  return messages
    .filter(({ role }) => role === 'system')
    .flatMap((message) => blocksOf(message, namedParts(message).flatMap(blockOf)))
}

/**
 * All other messages; adjacent messages of the same side become one turn, and tool results belong to the user's (R282,
 * R287).
 */
function turnsOf(messages: readonly Message[], model: string): readonly Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const parts = namedParts(message).filter((part) => part.type !== 'reasoning' || takesThinking(model))
    const blocks = blocksOf(message, parts.flatMap(blockOf))
    if (blocks.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) turns[turns.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else turns.push({ role, blocks })
  }
  return turns
}

/** The cache mark goes on the last block that may have one, which thoughts may not. */
function blocksOf({ cache }: Message, contents: readonly JsonObject[]): readonly Block[] {
  const last = contents.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  return contents.map((content, index) => ({ content, cache: cache === true && index === last }))
}

function blockOf(part: MessagePart): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      // the API refuses blocks without a visible character
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }]
    case 'file':
      return [fileBlock(part)]
    case 'reasoning':
      return thinkingBlock(part)
    case 'tool_call':
      return [{ type: 'tool_use', id: callId(part.id), name: callName(part.name), input: callInput(part.input) }]
    case 'tool_result':
      return [resultBlock(part)]
  }
}

/** A thought, as received. Thoughts of other APIs are omitted. */
function thinkingBlock(part: Extract<MessagePart, { readonly type: 'reasoning' }>): readonly JsonObject[] {
  const own = providerData(part, 'anthropic')
  if (own === undefined) return []
  const { type = 'thinking', ...signed } = own
  return [type === 'redacted_thinking' ? own : { type, thinking: part.text, ...signed }]
}

function fileBlock({ name, mediaType, data }: FilePart): JsonObject {
  if (mediaType.startsWith('image/')) {
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
  }
  const source = mediaType.startsWith('text/')
    ? { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') }
    : { type: 'base64', media_type: mediaType, data }
  return { type: 'document', source, title: name }
}

function resultBlock({ id, parts, is_error: isError }: ToolResultPart): JsonObject {
  const content = parts.every(({ type }) => type === 'text') ? textOf({ parts }) : parts.flatMap(blockOf)
  return { type: 'tool_result', tool_use_id: callId(id), content, ...(isError === true ? { is_error: true } : {}) }
}

/** Calls of other models may have ids with characters that this API refuses. */
function callId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** The API refuses more cache marks in one request. */
const mostMarks = 4

/**
 * The blocks to send, with their cache marks. If there are too many marks, the last ones are kept, because a mark
 * covers everything before it; one mark of the system text is always kept, because it serves other conversations too.
 */
function markCached({ system, turns }: { readonly system: readonly Block[]; readonly turns: readonly Turn[] }): {
  readonly system: readonly JsonObject[]
  readonly messages: readonly JsonObject[]
} {
  const inSystem = system.filter(({ cache }) => cache)
  const inTurns = turns.flatMap(({ blocks }) => blocks.filter(({ cache }) => cache))
  const ofTurns = lastOf(inTurns, mostMarks - Math.min(inSystem.length, 1))
  const kept = new Set([...ofTurns, ...lastOf(inSystem, mostMarks - ofTurns.length)])

  function sent(block: Block): JsonObject {
    return kept.has(block) ? { ...block.content, cache_control: { type: 'ephemeral' } } : block.content
  }

  return {
    system: system.map(sent),
    messages: turns.map(({ role, blocks }) => ({ role, content: blocks.map(sent) })),
  }
}

function lastOf<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(Math.max(0, list.length - count))
}
