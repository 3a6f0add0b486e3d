import type { JsonObject } from '../../base/json.ts'
import type { Message, ToolCall } from '../../event/message.ts'
import { callInput, spokenText } from './instruct.ts'

/** A content block, and whether the provider may keep everything up to it. */
export interface Block {
  readonly content: JsonObject
  readonly cache: boolean
}

/** What one side says until it is the other's turn. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly blocks: readonly Block[]
}

/** The system messages as blocks, in their order. */
export function systemBlocks(messages: readonly Message[]): readonly Block[] {
  return messages.filter(({ role }) => role === 'system').flatMap((message) => blocksOf(message, contentOf(message)))
}

/** All other messages; neighbours of the same side become one turn, and results of tools are the user's (R282, R287). */
export function turnsOf(messages: readonly Message[]): readonly Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(message, turnContent(message))
    if (blocks.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) turns[turns.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else turns.push({ role, blocks })
  }
  return turns
}

function blocksOf({ cache }: Message, contents: readonly JsonObject[]): readonly Block[] {
  return contents.map((content, index) => ({ content, cache: cache === true && index === contents.length - 1 }))
}

function turnContent(message: Message): readonly JsonObject[] {
  if (message.role === 'tool') return [toolResult(message)]
  return [...contentOf(message), ...(message.tool_calls ?? []).map(toolUse)]
}

function contentOf(message: Message): readonly JsonObject[] {
  const text = spokenText(message)
  // a block without a visible character is refused
  const said = text.trim() === '' ? [] : [{ type: 'text', text }]
  return message.attachment === undefined ? said : [...said, attachmentBlock(message.attachment)]
}

function attachmentBlock({ name, mediaType, data }: NonNullable<Message['attachment']>): JsonObject {
  if (mediaType.startsWith('image/')) {
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
  }
  const source = mediaType.startsWith('text/')
    ? { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') }
    : { type: 'base64', media_type: mediaType, data }
  return { type: 'document', source, title: name }
}

function toolUse({ id, name, arguments: text }: ToolCall): JsonObject {
  return { type: 'tool_use', id: callId(id), name, input: callInput(text) }
}

function toolResult(message: Message): JsonObject {
  const content = message.attachment === undefined ? message.content : contentOf(message)
  return { type: 'tool_result', tool_use_id: callId(message.tool_call_id ?? ''), content }
}

/** Calls of another model may have ids with characters that are refused here. */
function callId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}
