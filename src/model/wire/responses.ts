import { modelText } from '../../base/model-text.ts'
import { defined, isObject, type JsonObject } from '../../base/json.ts'
import { type Message, type MessagePart, textOf, type Usage } from '../../event/message.ts'
import type { FinishReason, ModelRequest, ToolDefinition } from '../provider.ts'
import { type AnswerParser, type Emit, noMetadata, type Quirks, type WireFormat } from './format.ts'
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
  supportedSettings,
} from './request-parts.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import { createOpenAiSender } from '../openai-client.ts'
import type { SseEvent } from '../sse.ts'
import {
  argumentsText,
  countAt,
  type Fields,
  garbled,
  listAt,
  generatedId,
  objectAt,
  parseJson,
  readFields,
  textAt,
} from './reading.ts'

/** OpenAI's Responses API. */
export const responsesFormat: WireFormat = {
  name: 'responses',
  path: () => '/responses',
  createSender: createOpenAiSender,
  body: responsesBody,
  parser: parseResponse,
}

/**
 * The body of a streaming Responses request. The server stores nothing, so OpenAI's models are asked
 * for encrypted reasoning, which later requests send back. Settings that are not given are left to the server; this API
 * does not support `seed`, so it is omitted.
 */
function responsesBody(asked: ModelRequest, quirks: Quirks): JsonObject {
  const request = supportedSettings(asked)
  const { model, messages, max_tokens: limit, temperature, top_p, tools = [] } = request
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
    ...defined({ prompt_cache_key: cacheKey(request) }),
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

/** The kinds of output items that are read, and the parts they become. */
const partOfKind = { message: 'text', reasoning: 'reasoning', function_call: 'tool_call' } as const

type ItemKind = keyof typeof partOfKind

/** An output item; its index in the list is its block number. */
interface OutputItem {
  readonly kind: ItemKind
  /** How events refer to it; undefined or empty if the server does not send it. */
  index: number | undefined
  id: string
  /** The parts of a message whose text was received, in pieces or whole; `*` for pieces that name no part. */
  readonly written: Set<string>
  sealed: boolean
}

/** Reads one response. Unknown kinds of events and items are ignored. */
export function parseResponse(emit: Emit): AnswerParser {
  const found = noMetadata()
  const items: OutputItem[] = []
  let refused = false
  let answerId = ''
  let stray: string | undefined
  const isRepeated = createRepeatFinder()

  function readEvent(fields: Fields, event: SseEvent): ModelFault | undefined {
    if (isRepeated(fields['sequence_number'], event.data)) return undefined
    switch (fields['type'] ?? event.name) {
      case 'response.created':
        return start(fields['response'])
      case 'response.refusal.delta':
        refused = true
        return writeText(fields)
      case 'response.output_text.delta':
        return writeText(fields)
      case 'response.output_text.done':
      case 'response.refusal.done':
        return finishText(fields, fields)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return write('reasoning', fields, textAt(fields, 'delta'))
      case 'response.reasoning_summary_part.added':
        // the parts of a summary are paragraphs, and have no separator on the wire
        return write('reasoning', fields, fields['summary_index'] === 0 ? '' : '\n\n')
      case 'response.output_item.added':
        return startItem(fields)
      case 'response.function_call_arguments.delta':
        return write('function_call', fields, textAt(fields, 'delta'))
      case 'response.output_item.done':
        return finishItem(fields)
      case 'response.completed':
        return finish({ status: 'completed', ...objectAt(fields, 'response') })
      case 'response.incomplete':
        return finish({ status: 'incomplete', ...objectAt(fields, 'response') })
      case 'response.failed':
        return finish({ status: 'failed', ...objectAt(fields, 'response') })
      case 'response.cancelled':
        return finish({ status: 'cancelled', ...objectAt(fields, 'response') })
      case 'error':
        return faultOfErrorObject(fields['error'] ?? fields)
      default:
        return readOther(fields)
    }
  }

  /** Events of this API have a type that begins with `response.`; any other may report an error. */
  function readOther(fields: Fields): ModelFault | undefined {
    if (textAt(fields, 'type').startsWith('response.')) {
      return isObject(fields['error']) ? faultOfErrorObject(fields['error']) : undefined
    }
    const error = reportedError(fields)
    if (error !== undefined) return faultOfErrorObject(error)
    if (fields['type'] === undefined && Object.keys(fields).length > 0) stray = JSON.stringify(fields)
    return undefined
  }

  function readBody(body: string): ModelFault | undefined {
    const response = parseJson(body)
    if (!isObject(response)) return garbled('answered with invalid JSON', body)
    const error = Array.isArray(response['output']) ? undefined : reportedError(response)
    if (error !== undefined) return faultOfErrorObject(error)
    start(response)
    const fault = finish(response)
    if (fault !== undefined || found.finish !== undefined) return fault
    return garbled('answered with JSON that is not a response', body)
  }

  function start(response: unknown): undefined {
    const id = textAt(response, 'id')
    answerId ||= id
    if (id !== '') emit({ type: 'start', id })
  }

  /**
   * The item an event belongs to. An item without id and index gets those of the first event of its kind that has any.
   */
  function known(kind: ItemKind, fields: Fields): OutputItem | undefined {
    const { id, index } = nameOf(fields)
    const last = items.at(-1)
    if (last?.kind === kind && last.index === index && last.id === id) return last
    const own = items.filter((item) => item.kind === kind)
    if (id === '' && index === undefined) return own.at(-1)
    const item =
      own.find((other) => id !== '' && other.id === id) ??
      own.find((other) => index !== undefined && other.index === index && (id === '' || other.id === '')) ??
      own.find((other) => other.id === '' && other.index === undefined)
    if (item === undefined) return undefined
    item.index ??= index
    item.id ||= id
    return item
  }

  function itemFor(kind: ItemKind, fields: Fields): OutputItem {
    const item = known(kind, fields)
    if (item !== undefined) return item
    const added: OutputItem = { kind, ...nameOf(fields), written: new Set(), sealed: false }
    items.push(added)
    return added
  }

  function write(kind: 'reasoning' | 'function_call', fields: Fields, text: string): undefined {
    // arguments of a call that was not announced are ignored
    const item = kind === 'reasoning' ? itemFor(kind, fields) : known(kind, fields)
    if (item === undefined || text === '') return
    item.written.add('*')
    const block = items.indexOf(item)
    if (kind === 'reasoning') emit({ type: 'reasoning', block, text })
    else emit({ type: 'tool_call', block, input: text })
  }

  function writeText(fields: Fields): undefined {
    const text = textAt(fields, 'delta')
    if (text === '') return
    const item = itemFor('message', fields)
    item.written.add(partOf(fields))
    emit({ type: 'text', block: items.indexOf(item), text })
  }

  /** Ends a part of a message: emits its text if no piece of it was received. `from`: the object with the text. */
  function finishText(fields: Fields, from: unknown): undefined {
    const text = textAt(from, 'text') || textAt(from, 'refusal')
    if (text === '' || isWritten(fields)) return
    refused ||= isRefusal(from)
    const item = itemFor('message', fields)
    item.written.add(partOf(fields))
    emit({ type: 'text', block: items.indexOf(item), text })
  }

  /**
   * Whether the text was already emitted. An event that names no item may belong to any of them; text must not be
   * emitted twice.
   */
  function isWritten(fields: Fields): boolean {
    const { id, index } = nameOf(fields)
    const isNameless = id === '' && index === undefined
    if (isNameless) return items.some((item) => item.kind === 'message' && item.written.size > 0)
    const written = known('message', fields)?.written
    return written !== undefined && (written.has('*') || written.has(partOf(fields)))
  }

  function startItem(fields: Fields): undefined {
    const item = objectAt(fields, 'item')
    const kind = kindOf(item)
    if (kind === undefined) return
    const added = itemFor(kind, fields)
    if (kind !== 'function_call') return
    const input = argumentsText(item['arguments'])
    if (input !== '') added.written.add('*')
    const block = items.indexOf(added)
    // the result of a call has to refer to it
    const id = textAt(item, 'call_id') || textAt(item, 'id') || generatedId(answerId, block)
    emit({ type: 'tool_call', block, id, name: textAt(item, 'name'), input })
  }

  /** Some servers send an item, or its text, only when it is finished. */
  function finishItem(fields: Fields): undefined {
    const item = objectAt(fields, 'item')
    const kind = kindOf(item)
    if (kind === undefined) return
    if (kind === 'function_call' && known(kind, fields) === undefined) startItem(fields)
    const finished = itemFor(kind, fields)
    if (kind === 'message') {
      for (const [index, part] of listAt(item, 'content').entries())
        finishText({ ...fields, content_index: index }, part)
    } else if (finished.written.size === 0) {
      write(kind, fields, kind === 'reasoning' ? reasoningText(item) : argumentsText(item['arguments']))
    }
    if (finished.sealed || !isReplayable(item)) return
    finished.sealed = true
    const provider = { format: 'responses', data: withoutText(item as JsonObject) } as const
    emit({ type: 'provider', block: items.indexOf(finished), part: partOfKind[kind], provider })
  }

  function finish(response: Fields): ModelFault | undefined {
    const { status, error, usage } = response
    if (error !== undefined && error !== null) return faultOfErrorObject(error)
    if (status === 'failed' || status === 'cancelled') {
      return faultOfErrorObject(`the response is ${status}, and no reason was given`)
    }
    finishOutput(response)
    const cost = objectAt(response, 'usage')['cost']
    found.finish = finishReason(response, { called: items.some(({ kind }) => kind === 'function_call'), refused })
    found.usage = isObject(usage) ? usageOf(usage) : undefined
    if (typeof cost === 'number') found.costUsd = cost
    found.done = true
    return undefined
  }

  /** Some servers send items only in the complete response at the end, under different ids. */
  function finishOutput(response: Fields): void {
    const streamed = new Set(items.map(({ kind }) => kind))
    for (const [index, item] of listAt(response, 'output').entries()) {
      const kind = kindOf(item)
      if (kind === undefined) continue
      refused ||= listAt(item, 'content').some(isRefusal)
      const fields = { item, output_index: index }
      if (!streamed.has(kind) || known(kind, fields) !== undefined) finishItem(fields)
    }
  }

  /** A stream without its last event is truncated, so it is not an answer, even if it has text. */
  function end(): ModelFault | undefined {
    return found.done ? undefined : unfinished({ hasMark: false, stray })
  }

  return { found, read: (event) => readFields(event, readEvent), readBody, end }
}

/**
 * Finds events that are sent twice: they have the same number and the same data. Numbers of servers that do not count
 * are ignored: they never rise, or belong to different events.
 */
function createRepeatFinder(): (number: unknown, data: string) => boolean {
  let last: number | undefined
  let before = ''
  let isUnique = true
  return (number, data) => {
    if (typeof number !== 'number') return false
    const isSame = number === last
    if (isSame && data !== before) isUnique = false
    last = number
    before = data
    // the first number is zero, also for servers that do not count
    return isSame && isUnique && number > 0
  }
}

function nameOf(fields: Fields): { readonly index: number | undefined; readonly id: string } {
  const { output_index: index, item } = fields
  return { index: typeof index === 'number' ? index : undefined, id: textAt(fields, 'item_id') || textAt(item, 'id') }
}

function partOf(fields: Fields): string {
  const { index, id } = nameOf(fields)
  const part = fields['content_index']
  if (index === undefined && id === '') return '*'
  return typeof part === 'number' ? String(part) : '0'
}

function kindOf(item: unknown): ItemKind | undefined {
  const type = textAt(item, 'type')
  return type === 'message' || type === 'reasoning' || type === 'function_call' ? type : undefined
}

function reasoningText(item: unknown): string {
  return [...listAt(item, 'summary'), ...listAt(item, 'content')].map((part) => textAt(part, 'text')).join('\n\n')
}

function isRefusal(part: unknown): boolean {
  return textAt(part, 'refusal') !== ''
}

/** A call without an id cannot be answered. */
function isReplayable(item: Fields): boolean {
  return item['type'] !== 'function_call' || (textAt(item, 'call_id') !== '' && textAt(item, 'name') !== '')
}

/** An item without the text that is in its part, so that the journal does not store it twice. */
function withoutText(item: JsonObject): JsonObject {
  if (item['type'] === 'function_call') return { ...item, arguments: '' }
  const content = listAt(item, 'content') as readonly JsonObject[]
  const [only] = content
  if (item['type'] !== 'message' || content.length !== 1 || typeof only?.['text'] !== 'string') return item
  return { ...item, content: [{ ...only, text: '' }] }
}

function finishReason(
  { status, incomplete_details: details }: Fields,
  { called, refused }: { readonly called: boolean; readonly refused: boolean },
): FinishReason | undefined {
  if (status === 'completed') return called ? 'tool_calls' : refused ? 'refusal' : 'stop'
  if (status !== 'incomplete') return undefined
  const reason = textAt(details, 'reason')
  if (reason === 'max_output_tokens') return 'length'
  return reason === 'content_filter' ? 'content_filter' : 'incomplete'
}

function usageOf(usage: Fields): Usage {
  const written = countAt(objectAt(usage, 'input_tokens_details'), 'cache_write_tokens')
  return {
    calls: 1,
    input: countAt(usage, 'input_tokens'),
    output: countAt(usage, 'output_tokens'),
    cached: countAt(objectAt(usage, 'input_tokens_details'), 'cached_tokens'),
    reasoning: countAt(objectAt(usage, 'output_tokens_details'), 'reasoning_tokens'),
    ...(written === 0 ? {} : { cache_write: written }),
  }
}
