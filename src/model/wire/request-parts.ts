import { sha256 } from '../../base/hash.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { FilePart, Message, MessagePart, TextPart, WireFormatName } from '../../event/message.ts'
import type { ModelRequest, OutputFormat } from '../provider.ts'
import { parseJson } from './reading.ts'

/**
 * The settings of a request that its model takes: OpenAI's models that always reason refuse an effort below `low`, and
 * `temperature` and `top_p`.
 */
export function supportedSettings(request: ModelRequest): ModelRequest {
  if (!/(?:^|[/:])gpt-6\.(?:1-sol|2-)/.test(request.model)) return request
  const { temperature: _, top_p: __, ...taken } = request
  const { reasoning_effort: effort } = request
  return effort === 'none' || effort === 'minimal' ? { ...taken, reasoning_effort: 'low' } : taken
}

/** Requests an answer that matches the schema in words, for hosts that cannot enforce it. */
export function schemaInstruction({ schema }: OutputFormat): string {
  return [
    'Answer with JSON alone: a single value that fits the JSON Schema below, with no code fence and no words around it.',
    JSON.stringify(schema),
  ].join('\n\n')
}

/**
 * The arguments of a tool call as an object, which some formats require. Invalid JSON is shown to the model verbatim.
 */
export function callInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parseJson(text)
  return isObject(value) ? (value as JsonObject) : { invalid_json: text }
}

/** The same as text: as the model wrote it, if it is an object, because strict servers refuse anything else. */
export function callArguments(text: string): string {
  return isObject(parseJson(text)) ? text : JSON.stringify(callInput(text))
}

/** The name of a call; servers refuse an empty one. */
export function callName(name: string): string {
  return name === '' ? 'unnamed' : name
}

/** The data to send back with a part in this format; undefined if the part is from a different format. */
export function providerData(part: MessagePart, format: WireFormatName): JsonObject | undefined {
  const data: Json | undefined = part.provider?.format === format ? part.provider.data : undefined
  return isObject(data) ? data : undefined
}

export type ContentPart = TextPart | FilePart

export function isContent(part: MessagePart): part is ContentPart {
  return part.type === 'text' || part.type === 'file'
}

/**
 * The parts of a message with the name of the speaker before its first text, for formats without a field for it.
 */
export function namedParts({ name, parts }: Message): readonly MessagePart[] {
  const first = parts.findIndex((part) => part.type === 'text' && part.text !== '')
  const part = parts[first]
  if (name === undefined || part?.type !== 'text') return parts
  return parts.with(first, { ...part, text: `${name}: ${part.text}` })
}

/** Whether a later request probably repeats this one and goes on: it offers tools, or repeats an earlier answer itself. */
export function isConversation({ messages, tools = [] }: ModelRequest): boolean {
  return tools.length > 0 || messages.some(({ role }) => role === 'assistant')
}

/**
 * A key that requests with the same start share, as 32 hex digits: a hash of the model and its messages up to the last
 * cache mark, or of its system messages if there is no mark. Undefined if there are neither.
 */
export function cacheKey({ model, messages }: ModelRequest): string | undefined {
  const marked = messages.findLastIndex(({ cache }) => cache === true)
  const shared = marked === -1 ? messages.filter(({ role }) => role === 'system') : messages.slice(0, marked + 1)
  if (shared.length === 0) return undefined
  return sha256(JSON.stringify([model, shared.map(({ role, parts }) => [role, parts])])).slice(0, 32)
}

/** Keywords that OpenAI's strict mode refuses anywhere in a schema. */
const refused = ['allOf', 'oneOf', 'not', 'if', 'dependentRequired', 'dependentSchemas', 'patternProperties']

/** Keywords whose values are data or names, not schemas. */
const plain = ['enum', 'const', 'default', 'examples', 'required']

/** Keywords whose values are maps of schemas by name. */
const named = ['properties', '$defs', 'definitions']

/**
 * Whether OpenAI can enforce this schema exactly: every object lists all its properties as required and allows no
 * others. Any other schema still guides the model, but would be refused in strict mode.
 */
export function fitsStrictMode(schema: JsonObject): boolean {
  return schema['type'] === 'object' && fits(schema)
}

function fits(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(fits)
  if (!isObject(schema)) return true
  if (refused.some((keyword) => keyword in schema)) return false
  if ((schema['type'] === 'object' || 'properties' in schema) && !isClosed(schema)) return false
  return Object.entries(schema).every(([keyword, value]) => {
    if (plain.includes(keyword)) return true
    if (!named.includes(keyword)) return fits(value)
    return isObject(value) && Object.values(value).every(fits)
  })
}

function isClosed(schema: { readonly [key: string]: unknown }): boolean {
  const { properties, required } = schema
  if (schema['additionalProperties'] !== false || !isObject(properties)) return false
  const listed: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.keys(properties).every((name) => listed.includes(name))
}
