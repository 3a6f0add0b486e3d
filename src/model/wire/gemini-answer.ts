import { isObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { FinishReason } from '../provider.ts'
import { countOf, textOf, type Fields } from './reading.ts'

/** Whether the prompt itself was refused: then no answer comes. */
export function isBlocked(chunk: Fields): boolean {
  return textOf(chunk['promptFeedback'], 'blockReason') !== ''
}

/** Why the model stopped; undefined while it has not said so. */
export function finishReason(candidate: unknown): FinishReason | undefined {
  switch (textOf(candidate, 'finishReason')) {
    case '':
    case 'FINISH_REASON_UNSPECIFIED':
      return undefined
    case 'STOP':
      return 'stop'
    case 'MAX_TOKENS':
      return 'length'
    case 'SAFETY':
    case 'RECITATION':
    case 'BLOCKLIST':
    case 'PROHIBITED_CONTENT':
    case 'SPII':
    case 'MODEL_ARMOR':
      return 'content_filter'
    case 'LANGUAGE':
    case 'MALFORMED_FUNCTION_CALL':
    case 'MALFORMED_RESPONSE':
    case 'MISSING_THOUGHT_SIGNATURE':
    case 'OTHER':
    case 'TOO_MANY_TOOL_CALLS':
    case 'UNEXPECTED_TOOL_CALL':
      return 'incomplete'
    default:
      return 'other'
  }
}

/** Tokens of one call so far. Thinking and what tools of the server read are counted outside of answer and prompt. */
export function usageOf(metadata: unknown): Usage | undefined {
  if (!isObject(metadata)) return undefined
  const reasoning = countOf(metadata, 'thoughtsTokenCount')
  return {
    calls: 1,
    input: countOf(metadata, 'promptTokenCount') + countOf(metadata, 'toolUsePromptTokenCount'),
    output: countOf(metadata, 'candidatesTokenCount') + reasoning,
    cached: countOf(metadata, 'cachedContentTokenCount'),
    reasoning,
  }
}
