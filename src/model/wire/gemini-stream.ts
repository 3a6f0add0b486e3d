import { isObject } from '../../base/json.ts'
import { faultOfErrorObject } from '../faults.ts'
import type { FinishReason, ModelEvent } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import { closedInTheMiddle } from '../thrown.ts'
import type { AnswerState, AnswerStep } from './format.ts'
import { finishReason, isBlocked, usageOf } from './gemini-answer.ts'
import { fieldsOf, garbled, listOf, openEvent, parseJson, said, textEvents, textOf, type Fields } from './reading.ts'

export interface GeminiState extends AnswerState {
  /** The name of the answer, once it is known. */
  readonly id: string
  /** How many tool calls came so far. */
  readonly calls: number
}

export const geminiStart: GeminiState = { finish: undefined, usage: undefined, done: false, id: '', calls: 0 }

/** Reads one event of a Gemini stream (R285): a whole response object with the next parts. */
export function readGeminiEvent(state: GeminiState, event: SseEvent): AnswerStep<GeminiState> {
  const opened = openEvent(event)
  if (opened.kind === 'fault') return opened
  return opened.kind === 'nothing' ? said(state) : readChunk(state, opened.fields)
}

/** Reads a whole response, or the list of them which this API sends when it is not asked for events. */
export function readGeminiBody(body: string): AnswerStep<GeminiState> {
  const value = parseJson(body)
  const chunks: readonly unknown[] = Array.isArray(value) ? value : [value]
  const events: ModelEvent[] = []
  let state = geminiStart
  for (const chunk of chunks) {
    if (!isObject(chunk)) return garbled('answered with JSON that cannot be read', body)
    const step = readChunk(state, chunk)
    if (step.kind === 'fault') return step
    state = step.state
    events.push(...step.events)
  }
  if (state.finish === undefined) return garbled('answered with JSON that is no response of a model', body)
  return said({ ...state, done: true }, ...events)
}

/** This API has no end mark: an answer is whole when a finish reason came, and cut when none did (R288). */
export function endOfGemini(state: GeminiState): AnswerStep<GeminiState> {
  return state.finish === undefined ? { kind: 'fault', fault: closedInTheMiddle } : said(state)
}

function readChunk(state: GeminiState, chunk: Fields): AnswerStep<GeminiState> {
  const error = chunk['error']
  if (error !== undefined && error !== null) return { kind: 'fault', fault: faultOfErrorObject(error) }
  const named = startOf(state, chunk)
  const candidate = listOf(chunk, 'candidates')[0]
  const parts = partEvents(listOf(fieldsOf(candidate, 'content'), 'parts'), named.state)
  const usage = usageOf(chunk['usageMetadata']) ?? state.usage
  const found = { ...named.state, calls: parts.calls, usage, finish: finishOf(state, { chunk, candidate, ...parts }) }
  return said(found, ...named.events, ...parts.events)
}

function startOf(
  state: GeminiState,
  chunk: Fields,
): { readonly state: GeminiState; readonly events: readonly ModelEvent[] } {
  const id = textOf(chunk, 'responseId')
  return state.id !== '' || id === ''
    ? { state, events: [] }
    : { state: { ...state, id }, events: [{ type: 'start', id }] }
}

function partEvents(
  parts: readonly unknown[],
  state: GeminiState,
): { readonly calls: number; readonly events: readonly ModelEvent[] } {
  const events: ModelEvent[] = []
  let calls = state.calls
  for (const part of parts) {
    if (!isObject(part)) continue
    events.push(...textEvents(part['thought'] === true ? 'reasoning' : 'text', textOf(part, 'text')))
    const call = part['functionCall']
    if (!isObject(call)) continue
    events.push(callEvent(call, { index: calls, answer: state.id }))
    calls += 1
  }
  return { calls, events }
}

/** Older models give their calls no id; ours holds the name of the answer, so that it is not given twice. */
function callEvent(call: Fields, { index, answer }: { readonly index: number; readonly answer: string }): ModelEvent {
  const id = textOf(call, 'id') || ['call', ...(answer === '' ? [] : [answer]), index].join('_')
  const written = JSON.stringify(fieldsOf(call, 'args'))
  return { type: 'tool_call', index, id, name: textOf(call, 'name'), arguments: written }
}

function finishOf(
  state: GeminiState,
  { chunk, candidate, calls }: { readonly chunk: Fields; readonly candidate: unknown; readonly calls: number },
): FinishReason | undefined {
  if (isBlocked(chunk)) return 'content_filter'
  const reason = finishReason(candidate) ?? state.finish
  // this API has no reason of its own for calls
  return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool_calls' : reason
}
