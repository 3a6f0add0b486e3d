import type { Json } from '../base/json.ts'

/** A value as text: a list of strings is joined with blank lines, other tables and lists become JSON. */
export function textOf(value: Json): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  const texts = Array.isArray(value) ? (value as readonly Json[]).filter((item) => item !== null) : []
  return texts.length > 0 && texts.every((item) => typeof item === 'string')
    ? joinTexts(texts)
    : JSON.stringify(value, null, 2)
}

/** Texts joined with blank lines; empty ones are omitted. */
export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n')
}
