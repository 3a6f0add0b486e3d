import type { Json } from '../base/json.ts'

/** A value in a message: short text as it is, other things by their kind. */
export function describeValue(value: Json | undefined): string {
  if (value === undefined || value === null) return 'empty'
  if (value === '') return 'empty text'
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number') return `the number ${value}`
  if (typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'a list' : 'a table'
}
