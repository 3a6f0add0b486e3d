import { isObject, type JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { closedInTheMiddle, faultOfErrorObject } from '../faults.ts'
import type { FinishReason } from '../provider.ts'
import { type AnswerParser, type Emit, nothingFound } from './format.ts'
import {
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
  /** What the last block is, as long as the next part may belong to it. */
  let open: 'text' | 'reasoning' | undefined

  /** Reads a whole response, or the list of them which this API sends when it is not asked for events. */
  function readBody(body: string): ModelFault | undefined {
    const value = parseJson(body)
    const chunks: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const chunk of chunks) {
      if (!isObject(chunk)) return garbled('answered with JSON that cannot be read', body)
      const fault = readChunk(chunk)
      if (fault !== undefined) return fault
    }
    if (found.finish === undefined) return garbled('answered with JSON that is no response of a model', body)
    found.done = true
    return undefined
  }

  function readChunk(chunk: Fields): ModelFault | undefined {
    const { error } = chunk
    if (error !== undefined && error !== null) return faultOfErrorObject(error)
    if (id === '' && textAt(chunk, 'responseId') !== '') {
      id = textAt(chunk, 'responseId')
      emit({ type: 'start', id })
    }
    const candidate = listAt(chunk, 'candidates')[0]
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
    // a signature is of one part as it came: nothing is to be added to that
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

  /** Older models give their calls no id; ours holds the name of the answer, so that it is not given twice. */
  function readCall(part: Fields, call: Fields): void {
    const block = blocks
    blocks += 1
    open = undefined
    const input = JSON.stringify(objectAt(call, 'args'))
    emit({ type: 'tool_call', block, id: textAt(call, 'id') || madeUpId(id, calls), name: textAt(call, 'name'), input })
    calls += 1
    // the arguments are in the part of the answer
    const bare = call['args'] === undefined ? call : { ...call, args: {} }
    const data = { ...part, functionCall: bare } as JsonObject
    emit({ type: 'provider', block, part: 'tool_call', provider: { format: 'gemini', data } })
  }

  function finishOf(chunk: Fields, candidate: unknown): FinishReason | undefined {
    // the prompt itself was refused: no answer comes
    if (textAt(chunk['promptFeedback'], 'blockReason') !== '') return 'content_filter'
    const reason = finishReason(candidate) ?? found.finish
    // this API has no reason of its own for calls
    return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool_calls' : reason
  }

  /** This API has no end mark: an answer is whole when a finish reason came, and cut when none did (R288). */
  function end(): ModelFault | undefined {
    return found.finish === undefined ? closedInTheMiddle : undefined
  }

  return { found, read: (event) => readFields(event, readChunk), readBody, end }
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

/** Tokens of one call so far. Thinking and what tools of the server read are counted outside of answer and prompt. */
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
