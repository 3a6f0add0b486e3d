import type { JsonObject } from '../../base/json.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { markCached } from './anthropic-cache.ts'
import { systemBlocks, turnsOf } from './anthropic-messages.ts'
import { effortSettings } from './anthropic-effort.ts'
import { schemaInstruction } from './instruct.ts'

/**
 * The body of a streaming Messages request (DESIGN 8). System messages go to the top, wherever they stand. A schema for
 * the answer is asked for in words at the end of the system text. `seed` has no place in this API and is left out.
 */
export function anthropicBody(request: ModelRequest): JsonObject {
  const { model, messages, output, tools = [] } = request
  const marked = markCached({ system: systemBlocks(messages), turns: turnsOf(messages) })
  const asked = output === undefined ? [] : [{ type: 'text', text: schemaInstruction(output) }]
  const system = [...marked.system, ...asked]
  return {
    model,
    ...effortSettings(request),
    ...(system.length === 0 ? {} : { system }),
    messages: marked.messages,
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    stream: true,
  }
}

function toolOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return { name, description, input_schema: parameters }
}
