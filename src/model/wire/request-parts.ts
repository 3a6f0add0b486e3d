import { sha256 } from '../../base/hash.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { FilePart, Message, MessagePart, TextPart, WireFormatName } from '../../event/message.ts'
import type { ModelRequest, OutputFormat } from '../provider.ts'
import { parseJson } from './reading.ts'

/** Asks in words for an answer that fits the schema, where a host cannot enforce it. */
export function schemaInstruction({ schema }: OutputFormat): string {
  return [
    'Answer with JSON alone: a single value that fits the JSON Schema below, with no code fence and no words around it.',
    JSON.stringify(schema),
  ].join('\n\n')
}

/** The arguments of a tool call as the object some formats want. What the model wrote wrongly is shown to it as it was. */
export function callInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parseJson(text)
  return isObject(value) ? (value as JsonObject) : { invalid_json: text }
}

/** What this format wants back with a part; undefined when the part came in another one. */
export function providerData(part: MessagePart, format: WireFormatName): JsonObject | undefined {
  const data: Json | undefined = part.provider?.format === format ? part.provider.data : undefined
  return isObject(data) ? data : undefined
}

export type ContentPart = TextPart | FilePart

export function isContent(part: MessagePart): part is ContentPart {
  return part.type === 'text' || part.type === 'file'
}

/** The parts of a message with the name of who speaks before its first text, for a format that has no field for it (R282). */
export function namedParts({ name, parts }: Message): readonly MessagePart[] {
  const first = parts.findIndex((part) => part.type === 'text' && part.text !== '')
  const part = parts[first]
  if (name === undefined || part?.type !== 'text') return parts
  return parts.with(first, { ...part, text: `${name}: ${part.text}` })
}

/**
 * What requests have in common that begin alike, as 32 hex digits: the model and its messages up to the last cache mark,
 * or its system messages when there is no mark. Undefined when nothing says which part comes again.
 */
export function cacheKey({ model, messages }: ModelRequest): string | undefined {
  const marked = messages.findLastIndex(({ cache }) => cache === true)
  const shared = marked === -1 ? messages.filter(({ role }) => role === 'system') : messages.slice(0, marked + 1)
  if (shared.length === 0) return undefined
  return sha256(JSON.stringify([model, shared.map(({ role, parts }) => [role, parts])])).slice(0, 32)
}

/** What OpenAI's strict mode does not take, wherever it stands in a schema. */
const refused = ['allOf', 'oneOf', 'not', 'if', 'dependentRequired', 'dependentSchemas', 'patternProperties']

/** Keywords whose values are data or names, not schemas. */
const plain = ['enum', 'const', 'default', 'examples', 'required']

/** Keywords that hold schemas under names. */
const named = ['properties', '$defs', 'definitions']

/**
 * Whether OpenAI can hold an answer to this schema exactly: every object lists all its properties as required and
 * allows no others. Any other schema is still a guide for the model; asked for strictly it would be refused.
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
