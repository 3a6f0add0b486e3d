import { isObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import { countOf, fieldsOf } from './reading.ts'

/** What a chat completion cost: its tokens, and its price when the host names one. */
export interface ChatUsage {
  readonly usage: Usage
  readonly costUsd?: number
}

/**
 * Reads the `usage` of a chat completion. Some hosts count reasoning beside the completion; their total tells. The
 * tokens of a cache stand in other places at DeepSeek and Moonshot.
 */
export function readChatUsage(found: unknown): ChatUsage | undefined {
  if (!isObject(found)) return undefined
  const details = fieldsOf(found, 'prompt_tokens_details')
  const input = countOf(found, 'prompt_tokens')
  const completion = countOf(found, 'completion_tokens')
  const reasoning = countOf(found['completion_tokens_details'], 'reasoning_tokens')
  const isBeside = countOf(found, 'total_tokens') >= input + completion + reasoning
  const written = countOf(details, 'cache_write_tokens')
  const cost = found['cost']
  const cached =
    countOf(details, 'cached_tokens') || countOf(found, 'prompt_cache_hit_tokens') || countOf(found, 'cached_tokens')
  return {
    usage: {
      calls: 1,
      input,
      output: isBeside ? completion + reasoning : completion,
      cached,
      reasoning,
      ...(written === 0 ? {} : { cache_write: written }),
    },
    ...(typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? { costUsd: cost } : {}),
  }
}
