import { isObject } from '../base/json.ts'
import type { Usage } from '../event/message.ts'
import type { ModelFault } from './errors.ts'
import { faultOfErrorObject } from './faults.ts'
import type { FinishReason, ModelEvent } from './provider.ts'
import type { SseEvent } from './sse.ts'
import { closedInTheMiddle } from './thrown.ts'

/** What is known of an answer so far. `done`: the end mark came, nothing after it counts. */
export interface ChatState {
  readonly finish: FinishReason | undefined
  readonly usage: Usage | undefined
  readonly done: boolean
}

export const chatStart: ChatState = { finish: undefined, usage: undefined, done: false }

export type ChatStep =
  | { readonly kind: 'events'; readonly state: ChatState; readonly events: readonly ModelEvent[] }
  | { readonly kind: 'fault'; readonly fault: ModelFault }

/**
 * Reads one event of a chat completion stream (R285). Text and reasoning become events at once; usage and the finish
 * reason are kept for `endOfChat`, so that `finish` is the last event whatever the order on the wire.
 */
export function readChatEvent(state: ChatState, event: SseEvent): ChatStep {
  if (event.data.trim() === '[DONE]') return { kind: 'events', state: { ...state, done: true }, events: [] }
  if (event.data.trim() === '') return { kind: 'events', state, events: [] }
  const chunk = parse(event.data)
  // a last event that was cut is the cut connection's fault, and `endOfChat` says so
  if (chunk === undefined && !event.complete) return { kind: 'events', state, events: [] }
  if (!isObject(chunk)) return garbled('sent an event that is not a JSON object', event.data)
  const error = chunk['error'] ?? (event.name === 'error' ? chunk : undefined)
  if (error !== undefined && error !== null) return { kind: 'fault', fault: faultOfErrorObject(error) }
  return readChoices(state, chunk, 'delta')
}

/** What several events gave. `fault` is what they ended with; `events` came before it. */
export interface ChatBatch {
  readonly state: ChatState
  readonly events: readonly ModelEvent[]
  readonly fault: ModelFault | undefined
}

/**
 * Reads the events that arrived together, up to the end mark or the first fault. Neighbouring pieces of text become
 * one: whoever shows them gets them at the same moment anyway, and a fast model costs a fraction.
 */
export function readChatEvents(start: ChatState, events: readonly SseEvent[]): ChatBatch {
  const read: ModelEvent[] = []
  let state = start
  for (const event of events) {
    if (state.done) break
    const step = readChatEvent(state, event)
    if (step.kind === 'fault') return { state, events: read, fault: step.fault }
    state = step.state
    for (const next of step.events) append(read, next)
  }
  return { state, events: read, fault: undefined }
}

function append(events: ModelEvent[], next: ModelEvent): void {
  const last = events.at(-1)
  if (last?.type === 'text' && next.type === 'text') {
    events[events.length - 1] = { type: 'text', text: last.text + next.text }
  } else if (last?.type === 'reasoning' && next.type === 'reasoning') {
    events[events.length - 1] = { type: 'reasoning', text: last.text + next.text }
  } else {
    events.push(next)
  }
}

/** Reads a whole chat completion: what servers send that do not stream. Ends with its usage and finish. */
export function readChatBody(body: string): ChatStep {
  const completion = parse(body)
  if (!isObject(completion)) return garbled('answered with JSON that cannot be read', body)
  const error = completion['error']
  if (error !== undefined && error !== null) return { kind: 'fault', fault: faultOfErrorObject(error) }
  const step = readChoices(chatStart, completion, 'message')
  if (step.kind === 'fault') return step
  const end = endOfChat(step.state)
  if (end.kind === 'fault') return garbled('answered with JSON that is no chat completion', body)
  return { ...end, events: [...step.events, ...end.events] }
}

/**
 * The last events of an answer: its usage (one call with zero tokens when the server counted none) and its finish.
 * Without a finish reason or an end mark it is a fault: text that came does not make a cut stream an answer.
 */
export function endOfChat(state: ChatState): ChatStep {
  if (state.finish === undefined && !state.done) return { kind: 'fault', fault: closedInTheMiddle }
  const usage = state.usage ?? { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 }
  const reason = state.finish ?? 'other'
  return {
    kind: 'events',
    state,
    events: [
      { type: 'usage', usage },
      { type: 'finish', reason },
    ],
  }
}

type Chunk = { readonly [key: string]: unknown }

function readChoices(state: ChatState, chunk: Chunk, part: 'delta' | 'message'): ChatStep {
  const usage = readUsage(chunk['usage']) ?? state.usage
  const choices = chunk['choices']
  const choice = Array.isArray(choices) ? (choices[0] as unknown) : undefined
  if (!isObject(choice)) return { kind: 'events', state: withFound(state, usage, state.finish), events: [] }
  const content = isObject(choice[part]) ? choice[part] : {}
  const stopped = choice['finish_reason']
  if (stopped === 'error') return { kind: 'fault', fault: faultOfErrorObject('it gave no reason') }
  const text = content['content'] ?? content['refusal']
  if (typeof text !== 'string' && text !== undefined && text !== null) {
    return garbled('sent answer text in a form that is not known', JSON.stringify(text))
  }
  const finish = typeof stopped === 'string' && stopped !== '' ? finishReason(stopped) : state.finish
  return { kind: 'events', state: withFound(state, usage, finish), events: deltas(content, text ?? '') }
}

/** The same object when nothing is new, as in nearly every event of an answer. */
function withFound(state: ChatState, usage: ChatState['usage'], finish: ChatState['finish']): ChatState {
  return usage === state.usage && finish === state.finish ? state : { ...state, usage, finish }
}

function deltas(content: Chunk, text: string): ModelEvent[] {
  const reasoning = content['reasoning_content'] ?? content['reasoning']
  const events: ModelEvent[] = []
  if (typeof reasoning === 'string' && reasoning !== '') events.push({ type: 'reasoning', text: reasoning })
  if (text !== '') events.push({ type: 'text', text })
  return events
}

function finishReason(reason: string): FinishReason {
  switch (reason.toLowerCase()) {
    case 'stop':
    case 'eos':
    case 'end_turn':
    case 'stop_sequence':
      return 'stop'
    case 'length':
    case 'max_tokens':
    case 'model_length':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    default:
      return 'other'
  }
}

function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  return {
    calls: 1,
    input: count(usage, 'prompt_tokens'),
    output: count(usage, 'completion_tokens'),
    cached: count(usage['prompt_tokens_details'], 'cached_tokens'),
    reasoning: count(usage['completion_tokens_details'], 'reasoning_tokens'),
  }
}

function count(from: unknown, key: string): number {
  const value = isObject(from) ? from[key] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}

function garbled(what: string, detail: string): ChatStep {
  return { kind: 'fault', fault: { class: 'garbled', retryable: false, what, detail } }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
