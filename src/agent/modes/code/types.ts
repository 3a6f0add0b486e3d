import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'

/** Levels of a schema that are shown. */
const mostDepth = 6

/** Renders a JSON Schema as a TypeScript type for a model; anything else becomes `unknown`. */
export function typeText(schema: Json | undefined, depth = 0): string {
  if (!isJsonObject(schema) || depth > mostDepth) return 'unknown'
  const { type, const: constant, enum: values, anyOf, oneOf, items } = schema
  if (constant !== undefined) return JSON.stringify(constant)
  if (Array.isArray(values)) return unionOf(values.map((value) => JSON.stringify(value)))
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return unionOf(choices.map((choice) => typeText(choice, depth + 1)))
  if (Array.isArray(type)) {
    const names = new Set(type.filter((one) => typeof one === 'string'))
    return unionOf([...names].map((one) => typeText({ ...schema, type: one }, depth)))
  }
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return `Array<${typeText(items, depth + 1)}>`
    case 'object':
      return objectText(schema, depth)
    default:
      return 'unknown'
  }
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'unknown'
}

function objectText({ properties, required, additionalProperties }: JsonObject, depth: number): string {
  const entries = isJsonObject(properties) ? Object.entries(properties) : []
  if (entries.length === 0) {
    if (additionalProperties === false) return '{}'
    return `{ [key: string]: ${typeText(isJsonObject(additionalProperties) ? additionalProperties : undefined, depth + 1)} }`
  }
  const needed = Array.isArray(required) ? required : []
  const indent = '  '.repeat(depth + 1)
  const lines = entries.flatMap(([name, property]) => [
    ...commentLines(isJsonObject(property) ? property['description'] : undefined, indent),
    `${indent}${keyText(name)}${needed.includes(name) ? '' : '?'}: ${typeText(property, depth + 1)}`,
  ])
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/** A text as a comment that it cannot close. */
export function commentLines(text: Json | undefined, indent = ''): readonly string[] {
  if (typeof text !== 'string' || text.trim() === '') return []
  const lines = text.trim().replaceAll('*/', '*\u200B/').split('\n')
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
}
