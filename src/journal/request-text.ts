import { isJsonObject, type Json } from '../base/json.ts'

/**
 * A request as text for people, one thing a line: texts of several lines stand as they are, indented, so that a changed
 * line of a prompt is one changed line here. For comparing, not for reading back. Ends with a line feed.
 */
export function requestText(value: Json): string {
  return `${block(value, '').join('\n')}\n`
}

function block(value: Json, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) {
    return (value as readonly Json[]).flatMap((item) => named(`${indent}-`, item, `${indent}  `))
  }
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, item]) => named(`${indent}${key}:`, item, `${indent}  `))
  }
  return [`${indent}${scalar(value)}`]
}

function named(name: string, value: Json, indent: string): readonly string[] {
  if (typeof value === 'string' && value.includes('\n')) {
    return [`${name} |`, ...value.split('\n').map((line) => `${indent}${line}`)]
  }
  const isInline = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isInline ? [`${name} ${scalar(value)}`] : [name, ...block(value, indent)]
}

function scalar(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
