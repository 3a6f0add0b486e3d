import type { JsonObject } from '../../base/json.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { cacheKey } from './cache-key.ts'
import { schemaInstruction } from './instruct.ts'
import type { Quirks } from './quirks.ts'
import { instructionsOf, inputItems } from './responses-input.ts'
import { fitsStrictMode } from './strict.ts'

/**
 * The body of a streaming Responses request (R277, R283, R284). Nothing is stored at the server. Settings that are not
 * given are left to the server; `seed` has no place in this API and is left out.
 */
export function responsesBody(request: ModelRequest, quirks: Quirks): JsonObject {
  const { model, messages, max_tokens: limit, temperature, top_p, tools = [] } = request
  const key = quirks.cacheKey ? cacheKey(request) : undefined
  const instructions = instructionsOf(messages).join('\n\n')
  return {
    model,
    ...(instructions === '' ? {} : { instructions }),
    input: [...inputItems(messages), ...outputInstruction(request, quirks)],
    stream: true,
    store: false,
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...reasoning(request, quirks),
    ...textFormat(request, quirks),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...(key === undefined ? {} : { prompt_cache_key: key }),
  }
}

/** A summary comes only when one is asked for, because some accounts may not have it. */
function reasoning({ reasoning_effort: effort, reasoning_summary }: ModelRequest, quirks: Quirks): JsonObject {
  const summary = reasoning_summary === 'none' ? undefined : reasoning_summary
  if (quirks.reasoning === 'none' || (effort === undefined && summary === undefined)) return {}
  return {
    reasoning: { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) },
  }
}

function textFormat({ output }: ModelRequest, { structured }: Quirks): JsonObject {
  if (output === undefined || structured === 'none') return {}
  if (structured === 'json') return { text: { format: { type: 'json_object' } } }
  const { name, schema } = output
  return { text: { format: { type: 'json_schema', name, schema, strict: fitsStrictMode(schema) } } }
}

/** Part of the input, because the mode `json_object` wants the word JSON there and not in the instructions. */
function outputInstruction({ output }: ModelRequest, { structured }: Quirks): readonly JsonObject[] {
  return output === undefined || structured === 'schema' ? [] : [{ role: 'system', content: schemaInstruction(output) }]
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  // left out, `strict` would be on, and most schemas would be refused
  return { type: 'function', name, description, parameters, strict: fitsStrictMode(parameters) }
}
