import { isObject, type JsonObject } from '../../base/json.ts'
import {
  type FilePart,
  type Message,
  type MessagePart,
  textOf,
  toolCallsOf,
  type ToolResultPart,
  type Usage,
} from '../../event/message.ts'
import type { FinishReason, ModelRequest, ToolDefinition } from '../provider.ts'
import { type AnswerParser, type Emit, noMetadata, type WireFormat } from './format.ts'
import { callInput, callName, isConversation, namedParts, providerData, schemaInstruction } from './request-parts.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import { createSender } from '../send.ts'
import type { SseEvent } from '../sse.ts'
import {
  argumentsText,
  countAt,
  type Fields,
  finishReasons,
  garbled,
  listAt,
  generatedId,
  objectAt,
  parseJson,
  readFields,
  textAt,
} from './reading.ts'

/** Anthropic's own Messages API. The base URL ends in `/v1`. */
export const anthropicFormat: WireFormat = {
  name: 'anthropic',
  path: () => '/messages',
  createSender: (options) =>
    createSender(options, {
      always: { 'anthropic-version': '2023-06-01' },
      withKey: (apiKey) => ({ 'x-api-key': apiKey }),
    }),
  body: messagesBody,
  parser: parseMessage,
}

/**
 * The body of a streaming Messages request. System messages go to the top, wherever they appear. A schema for the
 * answer is requested in words at the end of the system text. This API does not support `seed`, so it is omitted.
 */
function messagesBody(request: ModelRequest): JsonObject {
  const { model, messages, output } = request
  const text = { system: systemBlocks(messages), turns: turnsOf(messages, model) }
  const isContinued = isConversation(request)
  const marked = markCached(isContinued ? markConversation(text) : text)
  const asked = output === undefined ? [] : [{ type: 'text', text: schemaInstruction(output) }]
  const system = [...marked.system, ...asked]
  return {
    model,
    ...effortSettings(request),
    ...(system.length === 0 ? {} : { system }),
    messages: marked.messages,
    ...(isContinued && system.length === 0 ? markLastTool(toolSettings(request)) : toolSettings(request)),
    stream: true,
  }
}

interface ToolSettings extends JsonObject {
  readonly tools?: readonly JsonObject[]
}

/**
 * The API refuses a conversation with tool calls if no tools are given, so tools that are no longer offered are
 * declared, but cannot be called.
 */
function toolSettings({ tools = [], messages }: ModelRequest): ToolSettings {
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
 * All other messages; adjacent messages of the same side become one turn, and tool results belong to the user's.
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
  const last = contents.findLastIndex(isMarkable)
  return contents.map((content, index) => ({ content, cache: cache === true && index === last }))
}

function isMarkable({ type }: JsonObject): boolean {
  return type !== 'thinking' && type !== 'redacted_thinking'
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

const cacheMark: JsonObject = { cache_control: { type: 'ephemeral' } }

interface Text {
  readonly system: readonly Block[]
  readonly turns: readonly Turn[]
}

/**
 * Marks what the next request of a conversation repeats: the system text, which covers the tools before it, the newest
 * turn, and the user's turn before that, which the last request has written: the API looks for it at no more than 20
 * blocks before a mark, and one answer with its results can have more.
 */
function markConversation({ system, turns }: Text): Text {
  const before = turns.findLastIndex(({ role }, index) => role === 'user' && index < turns.length - 1)
  return {
    system: markLast(system),
    turns: turns.map((turn, index) =>
      index === before || index === turns.length - 1 ? { ...turn, blocks: markLast(turn.blocks) } : turn,
    ),
  }
}

function markLast(blocks: readonly Block[]): readonly Block[] {
  const last = blocks.findLastIndex(({ content }) => isMarkable(content))
  return blocks.map((block, index) => (index === last ? { ...block, cache: true } : block))
}

function markLastTool({ tools = [], ...settings }: ToolSettings): ToolSettings {
  const last = tools.at(-1)
  return last === undefined ? settings : { ...settings, tools: tools.with(-1, { ...last, ...cacheMark }) }
}

/**
 * The blocks to send, with their cache marks. If there are too many marks, the last ones are kept, because a mark
 * covers everything before it; one mark of the system text is always kept, because it serves other conversations too.
 */
function markCached({ system, turns }: Text): {
  readonly system: readonly JsonObject[]
  readonly messages: readonly JsonObject[]
} {
  const inSystem = system.filter(({ cache }) => cache)
  const inTurns = turns.flatMap(({ blocks }) => blocks.filter(({ cache }) => cache))
  const ofTurns = lastOf(inTurns, mostMarks - Math.min(inSystem.length, 1))
  const kept = new Set([...ofTurns, ...lastOf(inSystem, mostMarks - ofTurns.length)])

  function sent(block: Block): JsonObject {
    return kept.has(block) ? { ...block.content, ...cacheMark } : block.content
  }

  return {
    system: system.map(sent),
    messages: turns.map(({ role, blocks }) => ({ role, content: blocks.map(sent) })),
  }
}

function lastOf<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(Math.max(0, list.length - count))
}

/**
 * The output limit this API requires, if none is given: without thinking, with thinking, and for the highest efforts.
 */
const defaultLimits = { plain: 16_384, thinking: 32_000, deep: 64_000 }

const budgets: { readonly [effort: string]: number } = {
  minimal: 1024,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 24_000,
  max: 24_000,
}

/** The smallest budget the API accepts, and the least that is left for the answer itself. */
const leastBudget = 1024
const leastAnswer = 1024

/**
 * The output limit, thinking and sampling of a request. The limit includes thinking and answer; the
 * default is 16,384 tokens, 32,000 with thinking and 64,000 for the efforts xhigh and max, but never more than the
 * model supports. Temperature and top_p are omitted with thinking and for models that refuse them; if both are set,
 * only the temperature is sent, because newer models refuse the combination.
 */
export function effortSettings(request: ModelRequest): JsonObject {
  const { model, temperature, top_p, max_tokens } = request
  const family = familyOf(model)
  const limit = max_tokens ?? Math.min(defaultLimit(request, family), family.mostTokens)
  const thinking = thinkingOf(request, { family, limit })
  const samples = family.takesSampling && thinking['thinking'] === undefined
  return {
    max_tokens: limit,
    ...thinking,
    ...(samples && temperature !== undefined ? { temperature } : {}),
    ...(samples && temperature === undefined && top_p !== undefined ? { top_p } : {}),
  }
}

function defaultLimit({ reasoning_effort: effort }: ModelRequest, family: Family): number {
  if (family.thinking === 'none') return defaultLimits.plain
  if (family.thinking === 'adaptive' && (effort === 'xhigh' || effort === 'max')) return defaultLimits.deep
  const thinks = effort === undefined || effort === 'none' ? family.thinksUnasked : true
  return thinks ? defaultLimits.thinking : defaultLimits.plain
}

function thinkingOf(
  request: ModelRequest,
  { family, limit }: { readonly family: Family; readonly limit: number },
): JsonObject {
  const { reasoning_effort: effort, reasoning_summary: summary, messages } = request
  if (effort === undefined || family.thinking === 'none') return {}
  if (family.thinking === 'budget') return lacksThought(messages) ? {} : budget(effort, limit)
  if (effort === 'none') {
    // thinking cannot be turned off for some of these models; all of them accept the lowest effort
    return family.thinksUnasked ? { output_config: { effort: 'low' } } : {}
  }
  return {
    thinking: { type: 'adaptive', display: summary === 'none' ? 'omitted' : 'summarized' },
    output_config: { effort: knownEffort(effort, family) },
  }
}

function budget(effort: string, limit: number): JsonObject {
  const tokens = Math.min(budgets[effort] ?? 0, limit - leastAnswer)
  return tokens < leastBudget ? {} : { thinking: { type: 'enabled', budget_tokens: tokens } }
}

function knownEffort(effort: string, { knowsXhigh }: Family): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !knowsXhigh ? 'high' : effort
}

/** Whether the model accepts its own thoughts in later requests. */
export function takesThinking(model: string): boolean {
  return familyOf(model).thinking !== 'none'
}

/**
 * Whether the model is in a tool-calling turn that did not start with a signed thought: the API refuses a thinking
 * budget there, so the rest of such a turn runs without thinking.
 */
function lacksThought(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const answer = messages[last]
  if (answer === undefined || toolCallsOf(answer).length === 0) return false
  const before = messages.findLastIndex(({ role }, index) => index < last && role !== 'assistant' && role !== 'tool')
  const first = messages.slice(before + 1).find(({ role }) => role === 'assistant')?.parts[0]
  return first?.type !== 'reasoning' || providerData(first, 'anthropic') === undefined
}

interface Family {
  /** How an effort is requested: not at all, as a number of tokens, or by name. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** It thinks by default. */
  readonly thinksUnasked: boolean
  /** It supports the effort `xhigh`. */
  readonly knowsXhigh: boolean
  /** It accepts `temperature` and `top_p`. */
  readonly takesSampling: boolean
  /** The largest output limit in tokens. */
  readonly mostTokens: number
}

/**
 * The family of a model by its name. A Claude name without a version counts as the newest; any other name is a model of
 * another vendor behind the same API, which supports thinking budgets.
 */
function familyOf(model: string): Family {
  if (!/claude/i.test(model)) return { ...ruledBy(400), mostTokens: 64_000 }
  const version = versionOf(model)
  return { ...ruledBy(version), mostTokens: mostTokens(model, version) }
}

function ruledBy(version: number): Omit<Family, 'mostTokens'> {
  return {
    thinking: version < 307 ? 'none' : version < 406 ? 'budget' : 'adaptive',
    thinksUnasked: version >= 500,
    knowsXhigh: version >= 407,
    takesSampling: version < 407,
  }
}

function mostTokens(model: string, version: number): number {
  if (version < 305) return 4096
  if (version < 307) return 8192
  if (version < 405 && /opus/i.test(model)) return 32_000
  return version < 406 ? 64_000 : 128_000
}

/** 4.5 is 405. Dates and other long numbers are not versions. */
function versionOf(model: string): number {
  const found = /(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return found === null ? Infinity : Number(found[1]) * 100 + Number(found[2] ?? 0)
}

/** A content block that has started; its index in the list is its block number in the answer. */
interface ContentBlock {
  readonly index: unknown
  readonly kind: string
  /** Whether the arguments of a call, or the signature of a thought, were received. */
  complete: boolean
}

/** Reads one message. Unknown kinds of events and blocks are ignored. */
export function parseMessage(emit: Emit): AnswerParser {
  const found = noMetadata()
  const blocks: ContentBlock[] = []
  /** The server's own token counts; later ones replace earlier ones. */
  const counts: Record<string, unknown> = {}
  let answerId = ''
  let stray: string | undefined

  function readEvent(fields: Fields, event: SseEvent): ModelFault | undefined {
    switch (fields['type'] ?? event.name) {
      case 'content_block_delta':
        return readDelta(fields)
      case 'message_start':
        return start(fields['message'])
      case 'content_block_start':
        return startBlock(fields['content_block'], fields['index'])
      case 'content_block_stop':
        return stopBlock(fields['index'])
      case 'message_delta':
        count(fields)
        found.finish = stopReason(fields['delta']) ?? found.finish
        return undefined
      case 'message_stop':
        found.done = true
        return undefined
      case 'error':
        return faultOfErrorObject(fields['error'] ?? fields)
      default: {
        const error = reportedError(fields)
        if (error !== undefined) return faultOfErrorObject(error)
        if (fields['type'] === undefined && Object.keys(fields).length > 0) stray = JSON.stringify(fields)
        return undefined
      }
    }
  }

  function readBody(body: string): ModelFault | undefined {
    const message = parseJson(body)
    if (!isObject(message)) return garbled('answered with invalid JSON', body)
    const error = Array.isArray(message['content']) ? undefined : reportedError(message)
    if (error !== undefined) return faultOfErrorObject(error)
    found.finish = stopReason(message)
    if (found.finish === undefined) return garbled('answered with JSON that is not a message', body)
    start(message)
    for (const [index, block] of listAt(message, 'content').entries()) {
      startBlock(block, index)
      stopBlock(index)
    }
    found.done = true
    return undefined
  }

  function start(message: unknown): undefined {
    const id = textAt(message, 'id')
    answerId ||= id
    if (id !== '') emit({ type: 'start', id })
    if (isObject(message)) count(message)
  }

  function count(from: Fields): void {
    if (!isObject(from['usage'])) return
    for (const [key, value] of Object.entries(from['usage'])) {
      // some servers send null for counts they sent before
      if (value !== null && value !== undefined) counts[key] = value
    }
    found.usage = usageOf(counts)
  }

  function startBlock(content: unknown, index: unknown): undefined {
    const kind = textAt(content, 'type')
    const block = blocks.push({ index, kind, complete: false }) - 1
    switch (kind) {
      case 'text':
        return write('text', index, textAt(content, 'text'))
      case 'thinking':
        write('reasoning', index, textAt(content, 'thinking'))
        return sign(block, textAt(content, 'signature'))
      case 'redacted_thinking':
        return seal(block, content as JsonObject)
      case 'tool_use': {
        const begun = isObject(content) ? content['input'] : undefined
        const input = isObject(begun) && Object.keys(begun).length === 0 ? '' : argumentsText(begun)
        const id = textAt(content, 'id') || generatedId(answerId, block)
        emit({ type: 'tool_call', block, id, name: textAt(content, 'name'), input })
        if (input !== '') complete(block)
      }
    }
  }

  function readDelta(fields: Fields): undefined {
    const delta = objectAt(fields, 'delta')
    const { index } = fields
    switch (delta['type']) {
      case 'text_delta':
        return write('text', index, textAt(delta, 'text'))
      case 'thinking_delta':
        return write('reasoning', index, textAt(delta, 'thinking'))
      case 'signature_delta':
        return sign(blockOf(index), textAt(delta, 'signature'))
      case 'input_json_delta':
        return writeInput(
          index === undefined ? blocks.length - 1 : blockOf(index),
          argumentsText(delta['partial_json']),
        )
    }
  }

  function blockOf(named: unknown): number {
    return blocks.findLastIndex(({ index }) => index === named)
  }

  /** Completes a block if the API omitted something: a call gets an empty object, a thought has no signature. */
  function stopBlock(named: unknown): undefined {
    const at = blockOf(named)
    const block = blocks[at]
    if (block === undefined || block.complete) return
    if (block.kind === 'tool_use') writeInput(at, '{}')
    if (block.kind === 'thinking') seal(at, { type: 'thinking' })
  }

  /** A piece of a block that was not announced starts one. */
  function write(type: 'text' | 'reasoning', index: unknown, text: string): undefined {
    if (text === '') return
    const known = blockOf(index)
    const block = known === -1 ? blocks.push({ index, kind: type, complete: true }) - 1 : known
    emit({ type, block, text })
  }

  function writeInput(at: number, input: string): undefined {
    if (blocks[at]?.kind !== 'tool_use' || input === '') return
    complete(at)
    emit({ type: 'tool_call', block: at, input })
  }

  function sign(at: number, signature: string): undefined {
    if (signature !== '') seal(at, { type: 'thinking', signature })
  }

  function complete(at: number): void {
    const block = blocks[at]
    if (block !== undefined) block.complete = true
  }

  function seal(at: number, data: JsonObject): undefined {
    if (at === -1) return
    complete(at)
    emit({ type: 'provider', block: at, part: 'reasoning', provider: { format: 'anthropic', data } })
  }

  /** A stream without a stop reason and without its end is truncated: its text is not an answer. */
  function end(): ModelFault | undefined {
    return found.finish === undefined ? unfinished({ hasMark: found.done, stray }) : undefined
  }

  return { found, read: (event) => readFields(event, readEvent), readBody, end }
}

const reasonOf = finishReasons({
  stop: 'end_turn stop_sequence',
  length: 'max_tokens model_context_window_exceeded',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  incomplete: 'pause_turn',
})

function stopReason(delta: unknown): FinishReason | undefined {
  const reason = textAt(delta, 'stop_reason')
  return reason === '' ? undefined : reasonOf(reason)
}

/** Tokens of one call. `input_tokens` of the API does not include cache reads and cache writes. */
function usageOf(counts: Fields): Usage {
  const cached = countAt(counts, 'cache_read_input_tokens')
  const written = countAt(counts, 'cache_creation_input_tokens')
  return {
    calls: 1,
    input: countAt(counts, 'input_tokens') + cached + written,
    output: countAt(counts, 'output_tokens'),
    cached,
    reasoning: countAt(objectAt(counts, 'output_tokens_details'), 'thinking_tokens'),
    ...(written === 0 ? {} : { cache_write: written }),
  }
}
