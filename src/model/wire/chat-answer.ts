import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import type { SseEvent } from '../sse.ts'
import { createChatCalls } from './chat-calls.ts'
import { type AnswerParser, type Emit, nothingFound } from './format.ts'
import {
  countAt,
  finishReasons,
  type Fields,
  garbled,
  listAt,
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

/** Reads one chat completion (R285): text, reasoning and tool calls are emitted immediately. */
export function parseChat(emit: Emit): AnswerParser {
  const found = nothingFound()
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
   * Without a finish reason or an end mark it is a fault: a truncated stream is not an answer, even if it has text
   * (R288). The end mark is enough for servers that send no finish reason, unless something else came before it. Some
   * servers finish tool calls with `stop`.
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
