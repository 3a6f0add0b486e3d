import { isObject, type JsonObject } from '../../base/json.ts'

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
