import { isObject } from '../../base/json.ts'
import { faultOfErrorObject } from '../faults.ts'
import type { SseEvent } from '../sse.ts'
import { closedInTheMiddle } from '../thrown.ts'
import { blockEvents, messageEvents, startEvents, stopReason } from './anthropic-answer.ts'
import { usageOf } from './anthropic-usage.ts'
import type { AnswerState, AnswerStep } from './format.ts'
import { fieldsOf, garbled, openEvent, parseJson, said, textEvents, textOf, type Fields } from './reading.ts'

export interface AnthropicState extends AnswerState {
  /** The tool calls so far in their order: the number of their content block, and whether arguments came. */
  readonly calls: readonly { readonly block: unknown; readonly written: boolean }[]
  /** The server's own token counts; later ones replace earlier ones. */
  readonly counted: Fields
}

export const anthropicStart: AnthropicState = {
  finish: undefined,
  usage: undefined,
  done: false,
  calls: [],
  counted: {},
}

/** Reads one event of a Messages stream (R285). Kinds of events and blocks that are not known are passed over. */
export function readAnthropicEvent(state: AnthropicState, event: SseEvent): AnswerStep<AnthropicState> {
  const opened = openEvent(event)
  if (opened.kind === 'fault') return opened
  if (opened.kind === 'nothing') return said(state)
  const { fields } = opened
  switch (fields['type'] ?? event.name) {
    case 'message_start':
      return said(counted(state, fieldsOf(fields, 'message')), ...startEvents(fields['message']))
    case 'content_block_start':
      return startBlock(state, fields)
    case 'content_block_delta':
      return readDelta(state, fields)
    case 'content_block_stop':
      return stopBlock(state, fields)
    case 'message_delta':
      return said({ ...counted(state, fields), finish: stopReason(fields['delta']) ?? state.finish })
    case 'message_stop':
      return said({ ...state, done: true })
    case 'error':
      return { kind: 'fault', fault: faultOfErrorObject(fields['error'] ?? fields) }
    default:
      return isObject(fields['error']) ? { kind: 'fault', fault: faultOfErrorObject(fields['error']) } : said(state)
  }
}

/** Reads a whole message, from a server that does not stream. */
export function readAnthropicBody(body: string): AnswerStep<AnthropicState> {
  const message = parseJson(body)
  if (!isObject(message)) return garbled('answered with JSON that cannot be read', body)
  if (isObject(message['error'])) return { kind: 'fault', fault: faultOfErrorObject(message['error']) }
  const finish = stopReason(message)
  if (finish === undefined) return garbled('answered with JSON that is no message', body)
  return said({ ...counted(anthropicStart, message), finish, done: true }, ...messageEvents(message))
}

/** A stream in which neither a stop reason nor the end came is cut: its text is no answer (R288). */
export function endOfAnthropic(state: AnthropicState): AnswerStep<AnthropicState> {
  const cut = state.finish === undefined && !state.done
  return cut ? { kind: 'fault', fault: closedInTheMiddle } : said(state)
}

function counted(state: AnthropicState, from: Fields): AnthropicState {
  if (!isObject(from['usage'])) return state
  const counts = { ...state.counted, ...numbersOf(from['usage']) }
  return { ...state, counted: counts, usage: usageOf(counts) }
}

/** Some servers send null for what they counted before. */
function numbersOf(usage: Fields): Fields {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null && value !== undefined))
}

function startBlock(state: AnthropicState, fields: Fields): AnswerStep<AnthropicState> {
  const block = fieldsOf(fields, 'content_block')
  const events = blockEvents(block, state.calls.length)
  if (block['type'] !== 'tool_use') return said(state, ...events)
  const written = events.some((event) => event.type === 'tool_call' && event.arguments !== '')
  return said({ ...state, calls: [...state.calls, { block: fields['index'], written }] }, ...events)
}

function readDelta(state: AnthropicState, fields: Fields): AnswerStep<AnthropicState> {
  const delta = fieldsOf(fields, 'delta')
  switch (delta['type']) {
    case 'text_delta':
      return said(state, ...textEvents('text', textOf(delta, 'text')))
    case 'thinking_delta':
      return said(state, ...textEvents('reasoning', textOf(delta, 'thinking')))
    case 'input_json_delta':
      return writeCall(state, fields, textOf(delta, 'partial_json'))
    default:
      return said(state)
  }
}

function writeCall(state: AnthropicState, fields: Fields, piece: string): AnswerStep<AnthropicState> {
  const index = state.calls.findIndex(({ block }) => block === fields['index'])
  if (index === -1 || piece === '') return said(state)
  const calls = state.calls.map((call, at) => (at === index && !call.written ? { ...call, written: true } : call))
  return said({ ...state, calls }, { type: 'tool_call', index, arguments: piece })
}

/** A tool that is called without arguments gets the empty object other formats send. */
function stopBlock(state: AnthropicState, fields: Fields): AnswerStep<AnthropicState> {
  const call = state.calls.find(({ block }) => block === fields['index'])
  return call === undefined || call.written ? said(state) : writeCall(state, fields, '{}')
}
