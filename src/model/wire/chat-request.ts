import type { JsonObject } from '../../base/json.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { cacheKey } from './cache-key.ts'
import { chatMessages } from './chat-messages.ts'
import type { Quirks } from './quirks.ts'
import { fitsStrictMode } from './strict.ts'

/**
 * The body of a streaming chat completion (R281, R282, R284). Settings that are not given are left to the server. This
 * API has no place for `reasoning_summary`; what a host is known to refuse is left out.
 */
export function chatBody(request: ModelRequest, quirks: Quirks): JsonObject {
  const { model, max_tokens: limit, temperature, top_p, seed, tools = [] } = request
  const key = quirks.cacheKey ? cacheKey(request) : undefined
  return {
    model,
    messages: chatMessages(request, quirks),
    stream: true,
    ...(quirks.refusesExtras === true ? {} : { stream_options: { include_usage: true } }),
    ...(limit === undefined ? {} : { [quirks.outputLimit]: limit }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(seed === undefined || quirks.refusesExtras === true ? {} : { seed }),
    ...reasoning(request, quirks),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...responseFormat(request, quirks),
    ...(key === undefined ? {} : { prompt_cache_key: key }),
  }
}

function reasoning({ reasoning_effort: effort }: ModelRequest, quirks: Quirks): JsonObject {
  if (effort === undefined) return {}
  switch (quirks.reasoning) {
    case 'effort':
      return { reasoning_effort: effort }
    case 'object':
      return { reasoning: { effort } }
    case 'thinking':
      // hosts of this kind have the switch from early on and the levels since later; older models pass over them
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return { thinking: { type: 'enabled' }, reasoning_effort: effort }
    case 'enable':
      return { enable_thinking: effort !== 'none' }
    case 'none':
      return {}
  }
}

function responseFormat({ output }: ModelRequest, { structured }: Quirks): JsonObject {
  if (output === undefined || structured === 'none') return {}
  if (structured === 'json') return { response_format: { type: 'json_object' } }
  const { name, schema } = output
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict: fitsStrictMode(schema) } } }
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return { type: 'function', function: { name, description, parameters } }
}
