import { isDeeper, isObject, maxJsonDepth } from '../../base/json.ts'
import type { ModelFault } from '../errors.ts'
import type { FinishReason } from '../provider.ts'
import type { SseEvent } from '../sse.ts'

export type Fields = { readonly [key: string]: unknown }

/**
 * Reads the JSON object of an event. Ignores an empty event, the mark `[DONE]`, and a truncated last event, which the
 * `end` of the parser detects. What an event named `error` holds, JSON or plain text, is read as the field `error`.
 */
export function readFields(
  event: SseEvent,
  read: (fields: Fields, event: SseEvent) => ModelFault | undefined,
): ModelFault | undefined {
  const { data, complete } = event
  const text = data.trim()
  if (text === '' || text === '[DONE]') return undefined
  const parsed = parseJson(data)
  // Google wraps an error in a list of one item
  const value: unknown = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed
  if (event.name === 'error') return read({ error: isObject(value) ? (value['error'] ?? value) : text }, event)
  if (isObject(value)) return read(value, event)
  if (value === undefined && !complete) return undefined
  return garbled('sent an event that is not a JSON object', data)
}

/** Maps the finish reasons of a wire format to ours; unknown ones become `other`. */
export function finishReasons(words: { readonly [reason in FinishReason]?: string }): (word: string) => FinishReason {
  const reasons = new Map<string, string>()
  for (const [reason, known] of Object.entries(words)) for (const word of known.split(' ')) reasons.set(word, reason)
  return (word) => (reasons.get(word) ?? 'other') as FinishReason
}

/** Far more than an event is nested without the arguments of a call. */
const deepestKept = 2 * maxJsonDepth

/**
 * A value from a server; undefined if it is not JSON. What is nested deeper than 400 levels is left out: the arguments
 * of a call are still deep enough then for their tool to refuse them, and the rest can be recorded.
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    // each level takes two characters
    return text.length > 2 * deepestKept && isDeeper(value, deepestKept) ? withoutDeeper(value, deepestKept) : value
  } catch {
    return undefined
  }
}

function withoutDeeper(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return null
  if (Array.isArray(value)) return value.map((item: unknown) => withoutDeeper(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutDeeper(item, levels - 1)]))
}

/** The fault for an answer in an unknown form. `detail` is the text received. */
export function garbled(what: string, detail: string): ModelFault {
  return { class: 'garbled', retryable: false, what, detail }
}

/** The object under this key; empty if there is none. */
export function objectAt(from: unknown, key: string): Fields {
  const value = isObject(from) ? from[key] : undefined
  return isObject(value) ? value : {}
}

/** The list under this key; empty if there is none. */
export function listAt(from: unknown, key: string): readonly unknown[] {
  const value = isObject(from) ? from[key] : undefined
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

/** The text under this key; empty if there is none. */
export function textAt(from: unknown, key: string): string {
  const value = isObject(from) ? from[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** The arguments of a call as JSON text; some servers send the value itself. */
export function argumentsText(written: unknown): string {
  if (typeof written === 'string') return written
  return written === undefined || written === null ? '' : JSON.stringify(written)
}

/** The number of tokens under this key, rounded; 0 if there is none. */
export function countAt(from: unknown, key: string): number {
  const value = isObject(from) ? from[key] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}

/** An id for a call that has none, because its result has to refer to it, in later turns too. */
export function generatedId(answer: string, index: number): string {
  return ['call', ...(answer === '' ? [] : [answer]), index].join('_')
}
