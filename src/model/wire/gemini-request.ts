import type { JsonObject } from '../../base/json.ts'
import type { ModelRequest, ToolDefinition } from '../provider.ts'
import { contentsOf, systemParts } from './gemini-contents.ts'
import { generationOf, thinkingConfig } from './gemini-thinking.ts'
import { schemaInstruction } from './instruct.ts'
import type { Quirks } from './quirks.ts'

/**
 * The body of a streaming Gemini request (DESIGN 8); the model is in the path. System messages go to the top, wherever
 * they stand. Marks of caching have no place in this API, which caches by itself.
 */
export function geminiBody(request: ModelRequest, quirks: Quirks): JsonObject {
  const { messages, tools = [], output } = request
  const asked = output === undefined || outputMode(request, quirks) === 'schema' ? [] : [schemaInstruction(output)]
  const system = [...systemParts(messages), ...asked.map((text) => ({ text }))]
  const config = generationConfig(request, quirks)
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents: contentsOf(messages, { signed: generationOf(request.model) >= 3 }),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(declarationOf) }] }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  }
}

function generationConfig(request: ModelRequest, quirks: Quirks): JsonObject {
  const { temperature, top_p, max_tokens, seed, output } = request
  const mode = outputMode(request, quirks)
  return {
    ...(max_tokens === undefined ? {} : { maxOutputTokens: max_tokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(seed === undefined ? {} : { seed }),
    ...(output === undefined || mode === 'none' ? {} : { responseMimeType: 'application/json' }),
    ...(output === undefined || mode !== 'schema' ? {} : { responseJsonSchema: output.schema }),
    ...thinkingConfig(request),
  }
}

/** Models before Gemini 3 refuse tools together with an answer in JSON: there the schema is asked for in words. */
function outputMode({ model, tools = [] }: ModelRequest, { structured }: Quirks): Quirks['structured'] {
  return tools.length > 0 && generationOf(model) < 3 ? 'none' : structured
}

function declarationOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return { name, description, parametersJsonSchema: parameters }
}
