import { anthropicBody } from './anthropic-request.ts'
import {
  anthropicStart,
  endOfAnthropic,
  readAnthropicBody,
  readAnthropicEvent,
  type AnthropicState,
} from './anthropic-stream.ts'
import type { WireFormat } from './format.ts'

/** Anthropic's own Messages API. The base URL ends in `/v1`. */
export const anthropicFormat: WireFormat<AnthropicState> = {
  name: 'anthropic',
  path: () => '/messages',
  keyHeaders: (apiKey) => ({ 'x-api-key': apiKey }),
  headers: { 'anthropic-version': '2023-06-01' },
  body: anthropicBody,
  start: anthropicStart,
  read: readAnthropicEvent,
  readBody: readAnthropicBody,
  end: endOfAnthropic,
}
