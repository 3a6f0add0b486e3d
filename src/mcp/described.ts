import { cutText } from '../base/cut-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { McpTool } from '../event/mcp.ts'

/** Characters that a server may say of a tool, and of one of its parameters. */
const mostOfTool = 4000
const mostOfParameter = 1000
/** Levels of a schema that are looked through; what is deeper is any value. */
const mostLevels = 64

/** What a model is told of a tool: the words of a stranger, which are said to be the server's. */
export function describedTool(server: string, { title, description = '' }: McpTool): string {
  const text = [title, description].filter((one) => one !== undefined && one.trim() !== '').join('\n')
  const said = readable(text, mostOfTool)
  const whose = `A tool of the MCP server "${server}"`
  return said === '' ? `${whose}, which does not describe it.` : `${whose}, in its words: ${said}`
}

/** The schema of its input, with descriptions as `describedTool` has them. */
export function describedInput({ input }: McpTool): JsonObject {
  return { type: 'object', ...describedSchema(input) }
}

/** A schema with descriptions as `describedTool` has them. */
export function describedSchema(schema: JsonObject): JsonObject {
  return told(schema, 0) as JsonObject
}

function told(value: Json, level: number): Json {
  if (level > mostLevels) return {}
  if (Array.isArray(value)) return value.map((one) => told(one as Json, level + 1))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if ((key === 'description' || key === 'title') && typeof inner === 'string') {
        return [key, readable(inner, mostOfParameter)]
      }
      // these are values, and no schemas
      return [key, ['const', 'default', 'enum', 'examples'].includes(key) ? inner : told(inner, level + 1)]
    }),
  )
}

/** A text as a person who is shown it would see it: control characters and what no one sees could hide words for the model. */
function readable(text: string, most: number): string {
  return cutText(text, most).replaceAll(hidden, '').trim()
}

/** Control and format characters, private ones and halves; tabs and line feeds are none of them. */
const hidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu
