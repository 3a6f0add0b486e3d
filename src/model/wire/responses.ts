import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { type Message, type MessagePart, textOf } from '../../event/message.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import type { Quirks, WireFormat } from './format.ts'
import {
  cacheKey,
  callArguments,
  callName,
  type ContentPart,
  fitsStrictMode,
  isContent,
  namedParts,
  providerData,
  schemaInstruction,
} from './request-parts.ts'
import { parseResponse } from './responses-answer.ts'

/** OpenAI's Responses API (R277, R283, R284). */
export const responsesFormat: WireFormat = {
  name: 'responses',
  path: () => '/responses',
  keyHeaders: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  headers: {},
  body: responsesBody,
  parser: parseResponse,
}

/**
 * The body of a streaming Responses request (R277, R283, R284). The server stores nothing, so OpenAI's models are asked
 * for encrypted reasoning, which later requests send back. Settings that are not given are left to the server; this API
 * does not support `seed`, so it is omitted.
 */
function responsesBody(request: ModelRequest, quirks: Quirks): JsonObject {
  const { model, messages, max_tokens: limit, temperature, top_p, tools = [] } = request
  const key = quirks.cacheKey ? cacheKey(request) : undefined
  const from = afterInstructions(messages)
  const instructions = messages.slice(0, from).map(textOf).join('\n\n')
  const items = messages.slice(from).flatMap((message) => {
    return message.role === 'assistant' ? answerItems(message) : itemsOf(message)
  })
  return {
    model,
    ...(instructions === '' ? {} : { instructions }),
    input: [...items, ...outputInstruction(request, quirks)],
    stream: true,
    store: false,
    ...(quirks.encryptsReasoning === true && reasons(model) ? { include: ['reasoning.encrypted_content'] } : {}),
    ...defined({ max_output_tokens: limit, temperature, top_p }),
    ...effortSettings(request, quirks),
    ...textFormat(request, quirks),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...defined({ prompt_cache_key: key }),
  }
}

/** OpenAI refuses to encrypt reasoning for models without it: its chat models and those before GPT-5 and o1. */
function reasons(model: string): boolean {
  return !/^(?:ft:)?(?:gpt-[34]|chatgpt|.*-chat\b)/.test(model)
}

/** A summary is requested only if configured, because some accounts have no access to it. */
function effortSettings({ reasoning_effort: effort, reasoning_summary }: ModelRequest, quirks: Quirks): JsonObject {
  const summary = reasoning_summary === 'none' ? undefined : reasoning_summary
  if (quirks.reasoning === 'none' || (effort === undefined && summary === undefined)) return {}
  return { reasoning: defined({ effort, summary }) }
}

function textFormat({ output }: ModelRequest, { structured }: Quirks): JsonObject {
  if (output === undefined || structured === 'none') return {}
  if (structured === 'json') return { text: { format: { type: 'json_object' } } }
  const { name, schema } = output
  return { text: { format: { type: 'json_schema', name, schema, strict: fitsStrictMode(schema) } } }
}

/** Part of the input, because the mode `json_object` requires the word JSON there, not in the instructions. */
function outputInstruction({ output }: ModelRequest, { structured }: Quirks): readonly JsonObject[] {
  return output === undefined || structured === 'schema' ? [] : [{ role: 'system', content: schemaInstruction(output) }]
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  // the default of `strict` is true, which would refuse most schemas
  return { type: 'function', name, description, parameters, strict: fitsStrictMode(parameters) }
}

function afterInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role, parts }) => {
    return role !== 'system' || parts.some(({ type }) => type === 'file')
  })
  return first === -1 ? messages.length : first
}

/** The items of a message; adjacent content becomes one item. */
function itemsOf(message: Message): readonly JsonObject[] {
  const { role } = message
  const items: JsonObject[] = []
  let spoken: ContentPart[] = []

  function speak(): void {
    if (spoken.length > 0) items.push({ role, content: contentOf(spoken) })
    spoken = []
  }

  for (const part of namedParts(message)) {
    const item = itemOf(part)
    if (item !== undefined) speak()
    if (item !== undefined) items.push(item)
    else if (isContent(part)) spoken.push(part)
  }
  speak()
  return items.length === 0 ? [{ role, content: '' }] : items
}

function itemOf(part: MessagePart): JsonObject | undefined {
  const own = providerData(part, 'responses')
  switch (part.type) {
    case 'tool_call':
      if (own !== undefined) return { ...own, arguments: callArguments(part.input) }
      return {
        type: 'function_call',
        call_id: part.id,
        name: callName(part.name),
        arguments: callArguments(part.input),
      }
    case 'tool_result':
      return { type: 'function_call_output', call_id: part.id, output: outputOf(part.parts, part.is_error) }
    case 'text':
      return own === undefined ? undefined : withText(own, part.text)
    case 'reasoning':
      return own
    case 'file':
      return undefined
  }
}

function withText(item: JsonObject, text: string): JsonObject {
  const content = item['content'] as readonly JsonObject[]
  const [only] = content
  return content.length === 1 && only?.['text'] === '' ? { ...item, content: [{ ...only, text }] } : item
}

/**
 * The items of an answer. Reasoning that was received without its content cannot be sent back, and neither can the ids
 * of the items that belong to it. The server also refuses reasoning that is not followed by another item.
 */
function answerItems(message: Message): readonly JsonObject[] {
  const items = itemsOf(message)
  const isWhole = items.filter(isReasoning).every(holdsReasoning)
  const kept = isWhole ? items : items.filter((item) => !isReasoning(item)).map(({ id: _id, ...others }) => others)
  return kept.slice(0, kept.findLastIndex((item) => !isReasoning(item)) + 1)
}

function isReasoning({ type }: JsonObject): boolean {
  return type === 'reasoning'
}

function holdsReasoning({ encrypted_content: encrypted, content }: JsonObject): boolean {
  return (typeof encrypted === 'string' && encrypted !== '') || (Array.isArray(content) && content.length > 0)
}

/** Plain text stays a string; a file requires a list of parts. */
function contentOf(parts: readonly ContentPart[]): string | readonly JsonObject[] {
  if (parts.every(({ type }) => type === 'text')) return textOf({ parts })
  return parts.filter((part) => part.type === 'file' || part.text !== '').map(contentPart)
}

function contentPart(part: ContentPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = `data:${part.mediaType};base64,${part.data}`
  return part.mediaType.startsWith('image/')
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', filename: part.name, file_data: url }
}

function outputOf(parts: readonly ContentPart[], isError: true | undefined): string | readonly JsonObject[] {
  return contentOf(isError === true ? [{ type: 'text', text: modelText`Error: ` }, ...parts] : parts)
}
