import type { Usage } from '../../event/message.ts'
import { countOf, fieldsOf, type Fields } from './reading.ts'

/** Tokens of one call. The API counts what it reads from its cache and writes to it outside of `input_tokens`. */
export function usageOf(counts: Fields): Usage {
  const cached = countOf(counts, 'cache_read_input_tokens')
  const written = countOf(counts, 'cache_creation_input_tokens')
  return {
    calls: 1,
    input: countOf(counts, 'input_tokens') + cached + written,
    output: countOf(counts, 'output_tokens'),
    cached,
    reasoning: countOf(fieldsOf(counts, 'output_tokens_details'), 'thinking_tokens'),
    ...(written === 0 ? {} : { cache_write: written }),
  }
}
