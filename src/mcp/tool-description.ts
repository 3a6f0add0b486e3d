import { modelText } from '../base/model-text.ts'
import { cutText } from '../base/cut-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { McpTool } from '../event/mcp.ts'

/** Maximum characters of the description of a tool, and of one parameter. */
const mostOfTool = 4000
const mostOfParameter = 1000
/** Levels of a schema that are processed; anything deeper becomes `{}`, which accepts any value. */
const mostLevels = 64

/** The description of a tool for models. It is untrusted text, so it is attributed to the server. */
export function toolDescription(server: string, { title, description = '' }: McpTool): string {
  const text = [title, description].filter((one) => one !== undefined && one.trim() !== '').join('\n')
  const said = readable(text, mostOfTool)
  const whose = modelText`A tool of the MCP server "${server}"`
  return said === '' ? modelText`${whose}, which does not describe it.` : modelText`${whose}, in its words: ${said}`
}

/** The schema of its input, with descriptions cleaned as in `toolDescription`. */
export function toolInputSchema({ input }: McpTool): JsonObject {
  return { type: 'object', ...schemaForModel(input) }
}

/** A schema with descriptions cleaned as in `toolDescription`. */
export function schemaForModel(schema: JsonObject): JsonObject {
  return cleanedSchema(schema, 0) as JsonObject
}

function cleanedSchema(value: Json, level: number): Json {
  if (level > mostLevels) return {}
  if (Array.isArray(value)) return value.map((one) => cleanedSchema(one as Json, level + 1))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if ((key === 'description' || key === 'title') && typeof inner === 'string') {
        return [key, readable(inner, mostOfParameter)]
      }
      // these hold values, not schemas
      return [key, ['const', 'default', 'enum', 'examples'].includes(key) ? inner : cleanedSchema(inner, level + 1)]
    }),
  )
}

/** The text as a person would see it: control characters and invisible ones could hide instructions to the model. */
function readable(text: string, most: number): string {
  return cutText(text, most).replaceAll(hidden, '').trim()
}

/** Control, format and private-use characters and lone surrogates, but not tabs and line feeds. */
const hidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu
