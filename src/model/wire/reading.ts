import { isObject } from '../../base/json.ts'
import type { ModelFault } from '../errors.ts'
import type { ModelEvent } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import type { AnswerState, AnswerStep } from './format.ts'

export type Fields = { readonly [key: string]: unknown }

type Opened =
  | { readonly kind: 'fields'; readonly fields: Fields }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'fault'; readonly fault: ModelFault }

/**
 * The JSON object an event carries. Nothing: an empty event, a mark of the form `[DONE]`, or a last event that was cut,
 * which the format's `end` finds.
 */
export function openEvent({ data, complete }: SseEvent): Opened {
  const text = data.trim()
  if (text === '' || text === '[DONE]') return { kind: 'nothing' }
  const value = parseJson(text)
  if (isObject(value)) return { kind: 'fields', fields: value }
  if (value === undefined && !complete) return { kind: 'nothing' }
  return garbled('sent an event that is not a JSON object', data)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The step of an event that gives these model events. */
export function said<S extends AnswerState>(state: S, ...events: readonly ModelEvent[]): AnswerStep<S> {
  return { kind: 'events', state, events }
}

/** An answer in a form that is not known. `detail` is what came. */
export function garbled(what: string, detail: string): { readonly kind: 'fault'; readonly fault: ModelFault } {
  return { kind: 'fault', fault: { class: 'garbled', retryable: false, what, detail } }
}

/** The object under this key, empty when there is none. */
export function fieldsOf(from: unknown, key: string): Fields {
  const value = isObject(from) ? from[key] : undefined
  return isObject(value) ? value : {}
}

/** The list under this key, empty when there is none. */
export function listOf(from: unknown, key: string): readonly unknown[] {
  const value = isObject(from) ? from[key] : undefined
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

/** The text under this key, empty when there is none. */
export function textOf(from: unknown, key: string): string {
  const value = isObject(from) ? from[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** The number of tokens under this key: a whole number, 0 when there is none. */
export function countOf(from: unknown, key: string): number {
  const value = isObject(from) ? from[key] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}

/** A piece of text as events: none when it is empty. */
export function textEvents(type: 'text' | 'reasoning', text: string): readonly ModelEvent[] {
  return text === '' ? [] : [{ type, text }]
}
