import { isObject } from '../../base/json.ts'
import { faultOfErrorObject } from '../faults.ts'
import type { ModelEvent } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import { closedInTheMiddle } from '../thrown.ts'
import type { AnswerState, AnswerStep } from './format.ts'
import { fieldsOf, garbled, openEvent, parseJson, said, textEvents, textOf, type Fields } from './reading.ts'
import { ending, holdsRefusal, outputEvents } from './responses-answer.ts'
import { finishItem, finishPart, itemKey, noText, writeText, type SaidText } from './responses-text.ts'

export interface ResponsesState extends AnswerState, SaidText {
  /** The tool calls so far in their order; `item` tells the one an event belongs to. */
  readonly calls: readonly StartedCall[]
  /** Pieces of reasoning came. */
  readonly reasoned: boolean
}

interface StartedCall {
  readonly item: string
  /** Whether anything of its arguments came. */
  readonly written: boolean
}

export const responsesStart: ResponsesState = {
  finish: undefined,
  usage: undefined,
  done: false,
  calls: [],
  reasoned: false,
  ...noText,
}

/** Reads one event of a Responses stream (R277, R285). Kinds of events that are not known are passed over. */
export function readResponseEvent(state: ResponsesState, event: SseEvent): AnswerStep<ResponsesState> {
  const opened = openEvent(event)
  if (opened.kind === 'fault') return opened
  if (opened.kind === 'nothing') return said(state)
  const { fields } = opened
  switch (fields['type'] ?? event.name) {
    case 'response.created':
      return said(state, ...startEvents(fields))
    case 'response.output_text.delta':
      return writeText(state, fields, { isRefusal: false })
    case 'response.refusal.delta':
      return writeText(state, fields, { isRefusal: true })
    case 'response.output_text.done':
    case 'response.refusal.done':
      return finishPart(state, fields, fields)
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return said(reasoned(state), ...textEvents('reasoning', textOf(fields, 'delta')))
    case 'response.reasoning_summary_part.added':
      // the parts of a summary are paragraphs, and nothing on the wire divides them
      return said(state, ...textEvents('reasoning', fields['summary_index'] === 0 ? '' : '\n\n'))
    case 'response.output_item.added':
      return startCall(state, fields)
    case 'response.function_call_arguments.delta':
      return writeCall(state, fields, textOf(fields, 'delta'))
    case 'response.output_item.done':
      return fieldsOf(fields, 'item')['type'] === 'message' ? finishItem(state, fields) : finishCall(state, fields)
    case 'response.completed':
      return finish(state, { status: 'completed', ...fieldsOf(fields, 'response') })
    case 'response.incomplete':
      return finish(state, { status: 'incomplete', ...fieldsOf(fields, 'response') })
    case 'response.failed':
      return finish(state, { status: 'failed', ...fieldsOf(fields, 'response') })
    case 'error':
      return { kind: 'fault', fault: faultOfErrorObject(fields['error'] ?? fields) }
    default:
      return isObject(fields['error']) ? { kind: 'fault', fault: faultOfErrorObject(fields['error']) } : said(state)
  }
}

/** Reads a whole response, from a server that does not stream. */
export function readResponse(body: string): AnswerStep<ResponsesState> {
  const response = parseJson(body)
  if (!isObject(response)) return garbled('answered with JSON that cannot be read', body)
  const events = outputEvents(response)
  const end = ending(response, { called: events.some(isCall), refused: holdsRefusal(response) })
  if (end.kind === 'fault') return end
  if (end.found.finish === undefined) return garbled('answered with JSON that is no response', body)
  return said({ ...responsesStart, ...end.found, done: true }, ...startEvents({ response }), ...events)
}

/** A stream without its last event is cut: text that came does not make it an answer (R288). */
export function endOfResponse(state: ResponsesState): AnswerStep<ResponsesState> {
  return state.done ? said(state) : { kind: 'fault', fault: closedInTheMiddle }
}

function startEvents(fields: Fields): readonly ModelEvent[] {
  const id = textOf(fields['response'], 'id')
  return id === '' ? [] : [{ type: 'start', id }]
}

function finish(state: ResponsesState, response: Fields): AnswerStep<ResponsesState> {
  const late = lateEvents(state, response)
  const called = state.calls.length > 0 || late.some(isCall)
  const end = ending(response, { called, refused: state.refused || holdsRefusal(response) })
  return end.kind === 'fault' ? end : said({ ...state, ...end.found, done: true }, ...late)
}

/** Some servers send only the whole response at the end. */
function lateEvents(state: ResponsesState, response: Fields): readonly ModelEvent[] {
  return outputEvents(response).filter(({ type }) => {
    if (type === 'text') return state.written.length === 0
    return type === 'tool_call' ? state.calls.length === 0 : !state.reasoned
  })
}

function isCall({ type }: ModelEvent): boolean {
  return type === 'tool_call'
}

function reasoned(state: ResponsesState): ResponsesState {
  return state.reasoned ? state : { ...state, reasoned: true }
}

function startCall(state: ResponsesState, fields: Fields): AnswerStep<ResponsesState> {
  const item = fieldsOf(fields, 'item')
  if (item['type'] !== 'function_call') return said(state)
  const written = textOf(item, 'arguments')
  const call = { item: itemKey(fields), written: written !== '' }
  return said(
    { ...state, calls: [...state.calls, call] },
    {
      type: 'tool_call',
      index: state.calls.length,
      id: textOf(item, 'call_id'),
      name: textOf(item, 'name'),
      arguments: written,
    },
  )
}

function writeCall(state: ResponsesState, fields: Fields, piece: string): AnswerStep<ResponsesState> {
  const key = itemKey(fields)
  const index = state.calls.findIndex(({ item }) => item === key)
  if (index === -1 || piece === '') return said(state)
  const calls = state.calls.map((call, at) => (at === index && !call.written ? { ...call, written: true } : call))
  return said({ ...state, calls }, { type: 'tool_call', index, arguments: piece })
}

/** Some servers send a call only when it is finished, or its arguments only then. */
function finishCall(state: ResponsesState, fields: Fields): AnswerStep<ResponsesState> {
  const item = fieldsOf(fields, 'item')
  if (item['type'] !== 'function_call') return said(state)
  const key = itemKey(fields)
  const started = state.calls.find((call) => call.item === key)
  if (started === undefined) return startCall(state, fields)
  return started.written ? said(state) : writeCall(state, fields, textOf(item, 'arguments'))
}
