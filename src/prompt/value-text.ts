import type { Json } from '../base/json.ts'

/** A value as text: a list of texts with blank lines between them, other tables and lists as JSON. */
export function textOf(value: Json): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  const texts = Array.isArray(value) ? (value as readonly Json[]).filter((item) => item !== null) : []
  return texts.length > 0 && texts.every((item) => typeof item === 'string')
    ? joinTexts(texts)
    : JSON.stringify(value, null, 2)
}

/** Texts with blank lines between them; empty ones are left out. */
export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n')
}
