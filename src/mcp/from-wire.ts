import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import type {
  McpContent,
  McpPrompt,
  McpPromptMessage,
  McpResource,
  McpResourceContent,
  McpResult,
  McpTool,
} from '../event/mcp.ts'

// Data from servers is not trusted: fields of the wrong type are dropped, and so are items without a name.

type Fields = { readonly [key: string]: unknown }

/** The items of one page of a list, without those for which `read` returns undefined. */
export function itemsOf<Item>(
  page: unknown,
  list: string,
  read: (fields: Fields) => Item | undefined,
): readonly Item[] {
  return objects(isObject(page) ? page[list] : undefined).flatMap((fields) => read(fields) ?? [])
}

export function toolOf(fields: Fields): McpTool | undefined {
  const name = text(fields['name'])
  const schema = fields['inputSchema']
  if (name === undefined || name === '' || !(schema === undefined || isObject(schema))) return undefined
  const notes = isObject(fields['annotations']) ? fields['annotations'] : {}
  const execution = isObject(fields['execution']) ? fields['execution'] : {}
  return {
    name,
    ...defined({
      title: text(fields['title']) ?? text(notes['title']),
      description: text(fields['description']),
      output: object(fields['outputSchema']),
      readOnly: flag(notes['readOnlyHint']),
      destructive: flag(notes['destructiveHint']),
      idempotent: flag(notes['idempotentHint']),
      openWorld: flag(notes['openWorldHint']),
      onlyAsTask: execution['taskSupport'] === 'required' ? (true as const) : undefined,
    }),
    input: { type: 'object', ...(schema as JsonObject | undefined) },
  }
}

export function resourceOf(fields: Fields): McpResource | undefined {
  const uri = text(fields['uri'])
  return uri === undefined ? undefined : { ...about(fields, uri), uri, ...defined({ size: number(fields['size']) }) }
}

export function templateOf(fields: Fields): McpResource | undefined {
  const uri = text(fields['uriTemplate'])
  return uri === undefined ? undefined : { ...about(fields, uri), uri, isTemplate: true }
}

function about(fields: Fields, uri: string): Pick<McpResource, 'name' | 'title' | 'description' | 'mimeType'> {
  const [title, description, mimeType] = ['title', 'description', 'mimeType'].map((name) => text(fields[name]))
  return { name: text(fields['name']) ?? uri, ...defined({ title, description, mimeType }) }
}

export function promptOf(fields: Fields): McpPrompt | undefined {
  const name = text(fields['name'])
  if (name === undefined || name === '') return undefined
  return {
    name,
    ...defined({ title: text(fields['title']), description: text(fields['description']) }),
    arguments: objects(fields['arguments']).flatMap((argument) => {
      const called = text(argument['name'])
      if (called === undefined) return []
      const rest = { description: text(argument['description']), required: flag(argument['required']) }
      return [{ name: called, ...defined(rest) }]
    }),
  }
}

/** Undefined if it is not a tool result. */
export function resultOf(value: unknown): McpResult | undefined {
  if (!isObject(value)) return undefined
  const structured = value['structuredContent'] as Json | undefined
  const listed = value['content']
  if (!(listed === undefined || Array.isArray(listed)) || (listed === undefined && structured === undefined)) {
    return undefined
  }
  const content = objects(listed).map(contentOf)
  const other = structured !== undefined && !isObject(structured) && content.length === 0
  return {
    content: other ? [{ type: 'text', text: JSON.stringify(structured) }] : content,
    ...(isObject(structured) && { structured: structured as JsonObject }),
    ...(value['isError'] === true && { isError: true as const }),
  }
}

/** Content of an unknown type is shown as its JSON. */
function contentOf(block: Fields): McpContent {
  const { type } = block
  const [said, data, mimeType] = [text(block['text']), text(block['data']), text(block['mimeType'])]
  if (type === 'text' && said !== undefined) return { type, text: said }
  if ((type === 'image' || type === 'audio') && data !== undefined) {
    return { type, data, mimeType: mimeType ?? (type === 'image' ? 'image/png' : 'audio/wav') }
  }
  const uri = text(block['uri'])
  if (type === 'resource_link' && uri !== undefined) {
    const description = text(block['description'])
    return { type, uri, name: text(block['name']) ?? uri, ...defined({ description, mimeType }) }
  }
  const resource = isObject(block['resource']) ? resourceContentOf(block['resource']) : undefined
  if (type === 'resource' && resource !== undefined) return { type, resource }
  return { type: 'text', text: JSON.stringify(block) }
}

export function resourceContentOf(fields: Fields): McpResourceContent | undefined {
  const uri = text(fields['uri'])
  const [mimeType, said, blob] = ['mimeType', 'text', 'blob'].map((name) => text(fields[name]))
  return uri === undefined ? undefined : { uri, ...defined({ mimeType, text: said, blob }) }
}

export function promptMessageOf(fields: Fields): McpPromptMessage | undefined {
  const { role, content } = fields
  if (!(role === 'user' || role === 'assistant') || !isObject(content)) return undefined
  return { role, content: contentOf(content) }
}

function objects(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function object(value: unknown): JsonObject | undefined {
  return isObject(value) ? (value as JsonObject) : undefined
}
