import { isObject, type JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import type { FinishReason } from '../provider.ts'
import { type AnswerParser, type Emit, nothingFound } from './format.ts'
import {
  argumentsText,
  countAt,
  finishReasons,
  type Fields,
  garbled,
  listAt,
  madeUpId,
  objectAt,
  parseJson,
  readFields,
  textAt,
} from './reading.ts'

/** Reads one answer (R285): every event is a whole response object with the next parts. */
export function parseGemini(emit: Emit): AnswerParser {
  const found = nothingFound()
  let id = ''
  let calls = 0
  let blocks = 0
  let stray: string | undefined
  /** The kind of the last block, as long as the next part may belong to it. */
  let open: 'text' | 'reasoning' | undefined

  /** Reads a complete response, or the list of responses this API sends if no event stream was requested. */
  function readBody(body: string): ModelFault | undefined {
    const value = parseJson(body)
    const chunks: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const chunk of chunks) {
      if (!isObject(chunk)) return garbled('answered with invalid JSON', body)
      const fault = readChunk(chunk)
      if (fault !== undefined) return fault
    }
    if (found.finish === undefined) return garbled('answered with JSON that is not a model response', body)
    found.done = true
    return undefined
  }

  function readChunk(chunk: Fields): ModelFault | undefined {
    const candidate = listAt(chunk, 'candidates')[0]
    if (candidate === undefined || (chunk['error'] !== undefined && chunk['error'] !== null)) {
      const error = reportedError(chunk)
      if (error !== undefined) return faultOfErrorObject(error)
      if (isStray(chunk)) stray = JSON.stringify(chunk)
    }
    if (id === '' && textAt(chunk, 'responseId') !== '') {
      id = textAt(chunk, 'responseId')
      emit({ type: 'start', id })
    }
    for (const part of listAt(objectAt(candidate, 'content'), 'parts')) if (isObject(part)) readPart(part)
    found.usage = usageOf(chunk['usageMetadata']) ?? found.usage
    found.finish = finishOf(chunk, candidate)
    return undefined
  }

  function readPart(part: Fields): void {
    if (isObject(part['functionCall'])) return readCall(part, part['functionCall'])
    const type = part['thought'] === true ? 'reasoning' : 'text'
    const text = textAt(part, 'text')
    const signature = textAt(part, 'thoughtSignature')
    if (text === '' && signature === '') return
    // a signature covers one part exactly as received: nothing may be added to it
    const begins = open !== type || signature !== ''
    if (begins) blocks += 1
    const block = blocks - 1
    if (text !== '') emit({ type, block, text })
    if (signature !== '' || (begins && type === 'reasoning')) {
      const signed = signature === '' ? {} : { thoughtSignature: signature }
      const data = { ...(type === 'text' ? {} : { thought: true }), ...signed }
      emit({ type: 'provider', block, part: type, provider: { format: 'gemini', data } })
    }
    open = signature === '' ? type : undefined
  }

  /** Older models send no ids for calls; the generated id includes the id of the answer, so that it is unique. */
  function readCall(part: Fields, call: Fields): void {
    const block = blocks
    blocks += 1
    open = undefined
    const input = argumentsText(call['args']) || '{}'
    emit({ type: 'tool_call', block, id: textAt(call, 'id') || madeUpId(id, calls), name: textAt(call, 'name'), input })
    calls += 1
    // the arguments are already in the tool call part
    const bare = call['args'] === undefined ? call : { ...call, args: {} }
    const data = { ...part, functionCall: bare } as JsonObject
    emit({ type: 'provider', block, part: 'tool_call', provider: { format: 'gemini', data } })
  }

  function finishOf(chunk: Fields, candidate: unknown): FinishReason | undefined {
    // the prompt itself was refused: there will be no answer
    if (textAt(chunk['promptFeedback'], 'blockReason') !== '') return 'content_filter'
    const reason = finishReason(candidate) ?? found.finish
    // this API has no finish reason for tool calls
    return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool_calls' : reason
  }

  /** This API has no end mark: an answer is complete if it has a finish reason, and truncated otherwise (R288). */
  function end(): ModelFault | undefined {
    return found.finish === undefined ? unfinished({ hasMark: false, stray }) : undefined
  }

  return { found, read: (event) => readFields(event, readChunk), readBody, end }
}

/** Whether an object has nothing of a response. */
function isStray(chunk: Fields): boolean {
  return !['candidates', 'usageMetadata', 'promptFeedback', 'responseId'].some((key) => key in chunk)
}

const reasonOf = finishReasons({
  stop: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR',
  incomplete:
    'LANGUAGE MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE OTHER TOO_MANY_TOOL_CALLS UNEXPECTED_TOOL_CALL',
})

function finishReason(candidate: unknown): FinishReason | undefined {
  const reason = textAt(candidate, 'finishReason')
  return reason === '' || reason === 'FINISH_REASON_UNSPECIFIED' ? undefined : reasonOf(reason)
}

/**
 * Tokens of one call so far. The API does not include thinking in the answer, nor input of server tools in the prompt.
 */
function usageOf(metadata: unknown): Usage | undefined {
  if (!isObject(metadata)) return undefined
  const reasoning = countAt(metadata, 'thoughtsTokenCount')
  return {
    calls: 1,
    input: countAt(metadata, 'promptTokenCount') + countAt(metadata, 'toolUsePromptTokenCount'),
    output: countAt(metadata, 'candidatesTokenCount') + reasoning,
    cached: countAt(metadata, 'cachedContentTokenCount'),
    reasoning,
  }
}
