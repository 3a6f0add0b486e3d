import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import type { SseEvent } from '../sse.ts'
import { type AnswerParser, type Emit, noMetadata } from './format.ts'
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

/** Data kept about the reasoning of a chat completion: the field it was in, and the signed details of hosts. */
export interface ChatReasoning extends JsonObject {
  readonly field?: string
  readonly details?: readonly JsonObject[]
}

/** Reads one chat completion: text, reasoning and tool calls are emitted immediately. */
export function parseChat(emit: Emit): AnswerParser {
  const found = noMetadata()
  const reasoned: number[] = []
  const details: JsonObject[] = []
  const calls = createChatCalls(emit, { begin: () => begin(undefined), answerId: () => id })
  let blocks = 0
  let open: 'text' | 'reasoning' | undefined
  let field: string | undefined
  let id = ''
  let refused = false
  let hasDelta = false
  let stray: string | undefined

  function read(event: SseEvent): ModelFault | undefined {
    found.done ||= event.data.trim() === '[DONE]'
    return readFields(event, readChunk)
  }

  function readBody(body: string): ModelFault | undefined {
    const parsed = parseJson(body)
    const completion: unknown = Array.isArray(parsed) ? parsed[0] : parsed
    if (!isObject(completion)) return garbled('answered with invalid JSON', body)
    const fault = readChunk(completion)
    if (fault !== undefined) return fault
    return end() === undefined ? undefined : garbled('answered with JSON that is not a chat completion', body)
  }

  function readChunk(chunk: Fields): ModelFault | undefined {
    const choice = listAt(chunk, 'choices')[0]
    const stopped = textAt(choice, 'finish_reason')
    if (isPresent(chunk['error']) || choice === undefined) {
      const error = reportedError(chunk)
      if (error !== undefined) return faultOfErrorObject(error)
      if (isStray(chunk)) stray = JSON.stringify(chunk)
    }
    if (isObject(choice) && isPresent(choice['error'])) return faultOfErrorObject(choice['error'])
    if (failures.has(stopped.toLowerCase())) return faultOfErrorObject(`the finish reason is ${stopped}`)
    if (id === '' && textAt(chunk, 'id') !== '') {
      id = textAt(chunk, 'id')
      emit({ type: 'start', id })
    }
    const isDelta = isObject(choice) && isObject(choice['delta'])
    hasDelta ||= isDelta
    // some servers send the whole message in one event, or once more after its pieces
    const delta = isDelta || hasDelta ? objectAt(choice, 'delta') : objectAt(choice, 'message')
    const fault = readWords(delta)
    if (fault !== undefined) return fault
    if (isPresent(delta['tool_calls'])) calls.read(listAt(delta, 'tool_calls'))
    if (stopped !== '') found.finish = finishReason(stopped.toLowerCase())
    if (isObject(chunk['usage'])) {
      found.usage = usageOf(chunk['usage'])
      found.costUsd = costOf(chunk['usage']) ?? found.costUsd
    }
    return undefined
  }

  function readWords(delta: Fields): ModelFault | undefined {
    readReasoning(delta)
    const content = delta['content'] ?? ''
    const refusal = textAt(delta, 'refusal')
    refused ||= refusal !== ''
    if (typeof content === 'string') {
      piece('text', content || refusal)
      return undefined
    }
    const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
    for (const part of parts) {
      if (textAt(part, 'type') === 'text' && isObject(part) && typeof part['text'] === 'string') {
        piece('text', part['text'])
      } else if (textAt(part, 'type') === 'thinking') {
        // what Mistral sends for a thinking model: `{ type: 'thinking', thinking: [{ type: 'text', text }] }`
        piece(
          'reasoning',
          listAt(part, 'thinking')
            .map((thought) => textAt(thought, 'text'))
            .join(''),
        )
      } else {
        return garbled('sent answer text in an unknown form', JSON.stringify(content))
      }
    }
    return undefined
  }

  function readReasoning(delta: Fields): void {
    const name = typeof delta['reasoning_content'] === 'string' ? 'reasoning_content' : 'reasoning'
    const text = delta[name]
    if (typeof text === 'string' && text !== '') {
      field ??= name
      piece('reasoning', text)
    }
    if (!Array.isArray(delta['reasoning_details'])) return
    for (const detail of listAt(delta, 'reasoning_details')) addDetail(details, detail)
    if (details.length > 0 && reasoned.length === 0) reasoned.push(begin('reasoning'))
  }

  function piece(type: 'text' | 'reasoning', text: string): void {
    if (text === '') return
    if (open !== type) {
      const block = begin(type)
      if (type === 'reasoning') reasoned.push(block)
    }
    emit({ type, block: blocks - 1, text })
  }

  function begin(type: 'text' | 'reasoning' | undefined): number {
    open = type
    blocks += 1
    return blocks - 1
  }

  /**
   * Without a finish reason or an end mark it is a fault: a truncated stream is not an answer, even if it has text. The
   * end mark is enough for servers that send no finish reason, unless something else came before it. Some servers
   * finish tool calls with `stop`.
   */
  function end(): ModelFault | undefined {
    const fault = found.finish === undefined ? unfinished({ hasMark: found.done, stray }) : undefined
    if (fault !== undefined) return fault
    calls.end()
    if (found.finish === 'stop' && calls.count() > 0) found.finish = 'tool_calls'
    else if (refused && (found.finish === 'stop' || found.finish === undefined)) found.finish = 'refusal'
    for (const [index, block] of reasoned.entries()) {
      const signed = index === 0 && details.length > 0
      if (field === undefined && !signed) continue
      const data: ChatReasoning = defined({ field, details: signed ? details : undefined })
      emit({ type: 'provider', block, part: 'reasoning', provider: { format: 'chat', data } })
    }
    return undefined
  }

  return { found, read, readBody, end }
}

/** Adds a piece of `reasoning_details`: pieces of a text or summary have the same type, index and id. */
function addDetail(details: JsonObject[], given: unknown): void {
  if (!isObject(given)) return
  const detail = given as JsonObject
  const { type, index, id } = detail
  const at = details.findLastIndex((other) => {
    return other['type'] === type && other['index'] === index && (other['id'] ?? id) === (id ?? other['id'])
  })
  const before = details[at]
  if (before === undefined || typeof index !== 'number') return void details.push(detail)
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(detail)) {
    const text = before[key]
    const grows = (key === 'text' || key === 'summary') && typeof text === 'string' && typeof value === 'string'
    if (grows) merged[key] = text + value
    else if (value !== null) merged[key] = value
  }
  details[at] = merged
}

/** Whether a chunk without a choice is nothing that servers send beside their answer: no usage and no keep-alive. */
function isStray(chunk: Fields): boolean {
  if (Array.isArray(chunk['choices']) || isObject(chunk['usage']) || chunk['type'] === 'ping') return false
  return Object.keys(chunk).length > 0
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Finish reasons of a server that failed in the middle of its answer. */
const failures: ReadonlySet<string> = new Set(['error', 'failed', 'server_error', 'internal_error', 'abort', 'aborted'])

const finishReason = finishReasons({
  stop: 'stop eos end_turn stop_sequence',
  length: 'length max_tokens model_length',
  tool_calls: 'tool_calls function_call tool_use',
  content_filter: 'content_filter sensitive',
  refusal: 'refusal',
  incomplete: 'insufficient_system_resource network_error pause_turn',
})

/**
 * Some hosts do not include reasoning in the completion tokens, which their total reveals. DeepSeek and Moonshot report
 * cached tokens in different fields.
 */
function usageOf(usage: Fields): Usage {
  const details = objectAt(usage, 'prompt_tokens_details')
  const input = countAt(usage, 'prompt_tokens')
  const completion = countAt(usage, 'completion_tokens')
  const reasoning = countAt(usage['completion_tokens_details'], 'reasoning_tokens')
  const isBeside = countAt(usage, 'total_tokens') >= input + completion + reasoning
  const written = countAt(details, 'cache_write_tokens')
  const cached =
    countAt(details, 'cached_tokens') || countAt(usage, 'prompt_cache_hit_tokens') || countAt(usage, 'cached_tokens')
  return {
    calls: 1,
    input,
    output: isBeside ? completion + reasoning : completion,
    cached,
    reasoning,
    ...(written === 0 ? {} : { cache_write: written }),
  }
}

function costOf({ cost }: Fields): number | undefined {
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? cost : undefined
}

/** The tool calls of a chat completion that is being read. */
interface ChatCalls {
  /** The list `tool_calls` of one chunk or message. */
  read(pieces: readonly unknown[]): void
  end(): void
  /** The number of calls that belong to the answer. */
  count(): number
}

interface ChatCall {
  readonly block: number
  readonly index: number | undefined
  /** As the server sent it; empty if it has not. */
  id: string
  /** The same, or what stands in for it. */
  readonly givenId: string
  name: string
  readonly input: ArgumentsReader
  /** The list of pieces in which it was last named. */
  namedIn: unknown
}

/** One piece of a call, as received. */
interface Piece {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly input: string
}

interface Answer {
  /** Starts a block and returns its number. */
  readonly begin: () => number
  readonly answerId: () => string
}

/**
 * Reads tool calls in all the ways in which servers number and name them. By the standard, the pieces of a call have
 * its index, and the first one has its id and name. Many servers use one index for all calls or none, omit ids, repeat
 * ids and names in each piece, or send them late. Therefore a piece starts a call if it cannot belong to an earlier
 * one: because it has another id or name, or because the arguments of that call are complete.
 */
function createChatCalls(emit: Emit, { begin, answerId }: Answer): ChatCalls {
  const calls: ChatCall[] = []
  /** Calls of servers that number the start and the rest of one call differently. */
  const moved = new Map<number, ChatCall>()
  /** The name of a call that starts with a later piece. */
  let upcoming = ''

  function read(pieces: readonly unknown[]): void {
    for (const given of pieces) {
      if (!isObject(given)) continue
      const piece = pieceOf(given)
      const call = callOf(piece, pieces)
      if (call === undefined) start(piece, given, pieces)
      else extend(call, piece, pieces)
    }
  }

  /** The earlier call that a piece belongs to; undefined if it starts one. */
  function callOf(piece: Piece, list: unknown): ChatCall | undefined {
    const call = candidate(piece)
    if (call === undefined) return undefined
    const isOther = isOtherId(piece, call)
    if (piece.name !== '') {
      if (call.namedIn === list) return undefined
      const differs = isOther || (call.name !== '' && call.name !== piece.name)
      if (differs && !isRest(piece, call)) return undefined
    }
    if (!call.input.isComplete() || !opens(piece)) return call
    // a further call, unless the server repeats the arguments or sends them after a placeholder
    if (isOther) return undefined
    const isRepeated = piece.id !== '' && piece.id === call.id && call.input.isSame(piece.input)
    return isRepeated || isAfterPlaceholder(piece, call) ? call : undefined
  }

  /** The earlier call that a piece refers to by its index or id, or because it follows it. */
  function candidate({ index, id, name }: Piece): ChatCall | undefined {
    const byId = id === '' ? undefined : calls.findLast((call) => call.id === id)
    if (index === undefined) return byId ?? calls.at(-1)
    const byIndex = moved.get(index) ?? calls.findLast((call) => call.index === index)
    if (byIndex !== undefined) return byId?.index === index ? byId : byIndex
    // the index of a new call, unless the piece has nothing that starts one
    const last = byId ?? calls.at(-1)
    if (last === undefined || last.input.isComplete()) return undefined
    if (id !== '' && byId === undefined) return undefined
    if (name !== '' && !(byId?.name === name && byId.input.isBlank())) return undefined
    moved.set(index, last)
    return last
  }

  function start(piece: Piece, given: Fields, list: unknown): void {
    const { index, id, input } = piece
    const name = piece.name || upcoming
    upcoming = ''
    // ids must be unique, because results refer to them
    const ownId = calls.some((call) => call.givenId === id) ? '' : id
    const givenId = ownId || generatedId(answerId(), calls.length)
    const call: ChatCall = {
      block: begin(),
      index,
      id: ownId,
      givenId,
      name,
      input: createArgumentsReader(input),
      namedIn: piece.name === '' ? undefined : list,
    }
    calls.push(call)
    if (index !== undefined) moved.delete(index)
    emit({ type: 'tool_call', block: call.block, id: givenId, ...(name === '' ? {} : { name }), input })
    const data = extrasOf(given)
    if (data === undefined) return
    emit({ type: 'provider', block: call.block, part: 'tool_call', provider: { format: 'chat', data } })
  }

  function extend(call: ChatCall, piece: Piece, list: unknown): void {
    const { id, name } = piece
    const isNamed = call.name === '' && name !== ''
    const isKnown = call.id === '' && id !== '' && !calls.some((other) => other.id === id)
    const isRepeated = call.input.isComplete() && call.input.isSame(piece.input)
    if (name !== '' && !isNamed && call.input.isComplete() && piece.input.trim() === '') upcoming = name
    if (name !== '') call.namedIn = list
    if (isNamed) call.name = name
    if (isKnown) call.id = id
    const input = isRepeated ? '' : piece.input
    const news = { ...(isKnown ? { id } : {}), ...(isNamed ? { name } : {}) }
    if (isAfterPlaceholder(piece, call)) {
      emit({ type: 'discard', block: call.block })
      call.input.clear()
      emit({ type: 'tool_call', block: call.block, id: call.id || call.givenId, name: call.name, input })
    } else {
      emit({ type: 'tool_call', block: call.block, ...news, input })
    }
    call.input.add(input)
  }

  return {
    read,
    /** A call that got neither a name nor arguments is none. */
    end() {
      for (const { name, input, block } of calls) {
        if (name === '' && input.isBlank()) emit({ type: 'discard', block })
      }
    },
    count: () => calls.filter(({ name, input }) => name !== '' || !input.isBlank()).length,
  }
}

function isOtherId(piece: Piece, call: ChatCall): boolean {
  return piece.id !== '' && call.id !== '' && piece.id !== call.id
}

/** Whether the arguments of a piece begin an object of their own. */
function opens({ input }: Piece): boolean {
  return input.trimStart().startsWith('{')
}

/** Whether the arguments of a piece can only be the rest of those of the call. */
function isRest(piece: Piece, { input }: ChatCall): boolean {
  return !input.isBlank() && !input.isComplete() && piece.input.trim() !== '' && !opens(piece)
}

/** Some servers send `{}` first, and then the arguments. */
function isAfterPlaceholder(piece: Piece, call: ChatCall): boolean {
  return piece.name === '' && !isOtherId(piece, call) && opens(piece) && call.input.isSame('{}')
}

function pieceOf(given: Fields): Piece {
  const { index } = given
  const called = objectAt(given, 'function')
  const { arguments: written } = called
  // an empty object is the placeholder of some servers for arguments that follow as text
  const isPlaceholder = isObject(written) && Object.keys(written).length === 0
  return {
    index: typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : undefined,
    id: textAt(given, 'id'),
    name: textAt(called, 'name'),
    input: isPlaceholder ? '' : argumentsText(written),
  }
}

/** Fields of a call that OpenAI does not have, for example the signature of a thought. */
function extrasOf(call: Fields): JsonObject | undefined {
  const own = ['index', 'id', 'type', 'function']
  const extras = Object.entries(call as JsonObject).filter(([key, value]) => !own.includes(key) && value !== null)
  return extras.length === 0 ? undefined : Object.fromEntries(extras)
}

/** Watches arguments that arrive in pieces for the end of their JSON object, without parsing them again each time. */
interface ArgumentsReader {
  add(text: string): void
  clear(): void
  isBlank(): boolean
  /** Whether an object was opened and closed. */
  isComplete(): boolean
  /** Whether the text is what was received so far. */
  isSame(text: string): boolean
}

function createArgumentsReader(first: string): ArgumentsReader {
  let pieces: string[] = []
  let depth = 0
  let inText = false
  let isEscaped = false
  let isBlank = true
  let isComplete = false

  function add(text: string): void {
    if (text === '') return
    pieces.push(text)
    isBlank &&= text.trim() === ''
    for (let at = 0; at < text.length; at += 1) read(text.charCodeAt(at))
  }

  function read(code: number): void {
    if (isEscaped) {
      isEscaped = false
    } else if (inText) {
      if (code === 92) isEscaped = true
      else if (code === 34) inText = false
    } else if (code === 34) {
      inText = true
    } else if (code === 123 || code === 91) {
      depth += 1
    } else if (code === 125 || code === 93) {
      depth -= 1
      isComplete ||= depth === 0
    }
  }

  add(first)
  return {
    add,
    clear() {
      pieces = []
      isComplete = false
    },
    isBlank: () => isBlank,
    isComplete: () => isComplete,
    isSame: (text) => pieces.join('') === text,
  }
}
