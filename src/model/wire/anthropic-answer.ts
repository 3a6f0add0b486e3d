import { isObject, type JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import type { FinishReason } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import { type AnswerParser, type Emit, nothingFound } from './format.ts'
import {
  countAt,
  finishReasons,
  type Fields,
  garbled,
  argumentsText,
  listAt,
  madeUpId,
  objectAt,
  parseJson,
  readFields,
  textAt,
} from './reading.ts'

/** A content block that has started; its index in the list is its block number in the answer. */
interface ContentBlock {
  readonly index: unknown
  readonly kind: string
  /** Whether the arguments of a call, or the signature of a thought, were received. */
  complete: boolean
}

/** Reads one message (R285). Unknown kinds of events and blocks are ignored. */
export function parseMessage(emit: Emit): AnswerParser {
  const found = nothingFound()
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
        const id = textAt(content, 'id') || madeUpId(answerId, block)
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

  /** A stream without a stop reason and without its end is truncated: its text is not an answer (R288). */
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
