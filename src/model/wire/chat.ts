import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { type Message, type MessagePart, textOf, toolCallsOf, type ToolResultPart } from '../../event/message.ts'
import { createOpenAiSender } from '../openai-client.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { type ChatReasoning, parseChat } from './chat-answer.ts'
import type { Quirks, WireFormat } from './format.ts'
import {
  cacheKey,
  callArguments,
  callName,
  type ContentPart,
  fitsStrictMode,
  isContent,
  isConversation,
  providerData,
  schemaInstruction,
  supportedSettings,
} from './request-parts.ts'

/** Chat completions of OpenAI and of the many servers that are compatible with it. */
export const chatFormat: WireFormat = {
  name: 'chat',
  path: () => '/chat/completions',
  createSender: createOpenAiSender,
  body: chatBody,
  parser: parseChat,
}

/**
 * The body of a streaming chat completion. Settings that are not given are left to the server. This
 * API does not support `reasoning_summary`; fields that a host is known to refuse are omitted.
 */
function chatBody(asked: ModelRequest, quirks: Quirks): JsonObject {
  const request = supportedSettings(asked)
  const { model, max_tokens: limit, temperature, top_p, seed, tools = [] } = request
  const key = quirks.cacheKey ? cacheKey(request) : undefined
  return {
    model,
    messages: chatMessages(request, quirks),
    stream: true,
    ...(quirks.refusesExtras === true ? {} : { stream_options: { include_usage: true } }),
    ...defined({ [quirks.outputLimit]: limit, temperature, top_p }),
    ...defined({ seed: quirks.refusesExtras === true ? undefined : seed }),
    ...effortSettings(request, quirks),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...responseFormat(request, quirks),
    ...defined({ prompt_cache_key: key }),
    ...(movesMark(request, quirks) ? { cache_control: { type: 'ephemeral' } } : {}),
  }
}

/**
 * Whether the host is asked to mark the newest part itself, which counts as one mark. Only Claude needs marks to be
 * cached, and messages with results of tools cannot carry one here.
 */
function movesMark(request: ModelRequest, { cacheMarks }: Quirks): boolean {
  return cacheMarks && /claude/i.test(request.model) && isConversation(request)
}

function effortSettings({ reasoning_effort: effort }: ModelRequest, quirks: Quirks): JsonObject {
  if (effort === undefined) return {}
  switch (quirks.reasoning) {
    case 'effort':
      return { reasoning_effort: effort }
    case 'object':
      return { reasoning: { effort } }
    case 'thinking':
      // these hosts had the switch first and added levels later; older models ignore the levels
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return { thinking: { type: 'enabled' }, reasoning_effort: effort }
    case 'enable':
      return { enable_thinking: effort !== 'none' }
    case 'none':
      return {}
  }
}

function responseFormat({ output }: ModelRequest, { structured }: Quirks): JsonObject {
  if (output === undefined || structured === 'none') return {}
  if (structured === 'json') return { response_format: { type: 'json_object' } }
  const { name, schema } = output
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict: fitsStrictMode(schema) } } }
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return { type: 'function', function: { name, description, parameters } }
}

/** The messages of a chat completion, including instructions that the host has no setting for. */
function chatMessages(request: ModelRequest, quirks: Quirks): readonly JsonObject[] {
  const { messages, output } = request
  const marked = quirks.cacheMarks
    ? marks(messages, movesMark(request, quirks) ? mostMarks - 1 : mostMarks)
    : new Set<Message>()
  const written = messages.flatMap((message, index) => {
    const writing = { quirks, isMarked: marked.has(message) }
    if (message.role !== 'tool') return [spokenMessage(message, writing)]
    const results = toolMessages(message, writing)
    return messages[index + 1]?.role === 'tool' ? results : [...results, ...filesOfTools(messages, index)]
  })
  return output === undefined || quirks.structured === 'schema'
    ? written
    : instructed(written, schemaInstruction(output))
}

/** Models that need cache marks refuse more of them in one request. */
const mostMarks = 4

/** The messages whose cache mark is sent, at most this many: one system message, and the last ones of all others. */
function marks(messages: readonly Message[], most: number): ReadonlySet<Message> {
  const found = messages.filter(({ cache, parts }) => cache === true && parts.some(hasContent))
  const system = found.findLast(({ role }) => role === 'system')
  const others = found.filter((message) => message !== system)
  if (system === undefined) return new Set(others.slice(-most))
  return new Set([system, ...others.slice(1 - most)])
}

function hasContent(part: MessagePart): boolean {
  if (part.type === 'text') return part.text !== ''
  return part.type === 'file' || part.type === 'tool_result'
}

interface Writing {
  readonly quirks: Quirks
  readonly isMarked: boolean
}

function spokenMessage(message: Message, writing: Writing): JsonObject {
  const { role } = message
  const content = contentOf(message.parts.filter(isContent), writing)
  const calls = toolCallsOf(message)
  const reasoning = role === 'assistant' ? reasoningFields(message, writing.quirks) : {}
  const spoken = { role, ...speaker(message, writing.quirks) }
  if (calls.length === 0) return { ...spoken, content, ...reasoning }
  return {
    ...spoken,
    content: content === '' ? null : content,
    ...(writing.quirks.replaysReasoning === 'text' ? { reasoning_content: '' } : {}),
    ...reasoning,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: callName(call.name), arguments: callArguments(call.input) },
      ...(writing.quirks.refusesExtras === true ? {} : providerData(call, 'chat')),
    })),
  }
}

/** The model's own reasoning, unchanged, in the fields in which the host expects it back. */
function reasoningFields({ parts }: Message, { replaysReasoning }: Quirks): JsonObject {
  if (replaysReasoning === 'none') return {}
  const own = parts.flatMap((part) => {
    const data: ChatReasoning | undefined = part.type === 'reasoning' ? providerData(part, 'chat') : undefined
    return data === undefined || part.type !== 'reasoning' ? [] : [{ ...data, text: part.text }]
  })
  const details = own.flatMap((reasoning) => reasoning.details ?? [])
  const field = own.find((reasoning) => reasoning.field !== undefined)?.field
  return {
    ...(replaysReasoning === 'text' && field !== undefined ? { [field]: own.map(({ text }) => text).join('') } : {}),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  }
}

/** Plain text stays a string, which every server accepts; a cache mark or a file requires a list of parts. */
function contentOf(parts: readonly ContentPart[], { isMarked }: Writing): string | readonly JsonObject[] {
  if (!isMarked && parts.every(({ type }) => type === 'text')) return textOf({ parts })
  const written = parts.map(contentPart)
  // a mark covers everything before it, so it goes on the last part
  const last = written.at(-1)
  return isMarked && last !== undefined ? written.with(-1, { ...last, cache_control: { type: 'ephemeral' } }) : written
}

function contentPart(part: ContentPart): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const url = `data:${part.mediaType};base64,${part.data}`
  if (part.mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  return { type: 'file', file: { filename: part.name, file_data: url } }
}

function toolMessages({ parts }: Message, { quirks, isMarked }: Writing): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'tool_result')
  return results.map((result, index) => ({
    role: 'tool',
    content: contentOf(resultTexts(result), { quirks, isMarked: isMarked && index === results.length - 1 }),
    tool_call_id: result.id,
  }))
}

/** The result of a tool as text, the only form this API supports. */
function resultTexts({ parts, is_error: isError }: ToolResultPart): readonly ContentPart[] {
  const files = parts.filter((part) => part.type === 'file')
  const named = files.map(({ name }) => `(${name}: see the next message)`).join('\n')
  const text = [textOf({ parts }), named].filter((words) => words !== '').join('\n')
  return [{ type: 'text', text: isError === true ? modelText`Error: ${text}` : text }]
}

/** The files from the tool results that end at `last`, as one message after them. */
function filesOfTools(messages: readonly Message[], last: number): readonly JsonObject[] {
  let first = last
  while (messages[first - 1]?.role === 'tool') first -= 1
  const files = messages
    .slice(first, last + 1)
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_result' ? part.parts : [])))
    .filter((part) => part.type === 'file')
  return files.length === 0 ? [] : [{ role: 'user', content: files.map(contentPart) }]
}

/** The name of the speaker, in the characters that the API accepts. */
function speaker({ name }: Message, { refusesExtras }: Quirks): { readonly name?: string } {
  if (name === undefined || refusesExtras === true) return {}
  const sendable = name.replaceAll(/[^\w-]+/g, '_').slice(0, 64)
  return sendable === '' ? {} : { name: sendable }
}

/** Appends to the first system message, because many servers do not accept a second one. */
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
