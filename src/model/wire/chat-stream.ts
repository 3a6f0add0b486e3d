import { isObject } from '../../base/json.ts'
import { faultOfErrorObject } from '../faults.ts'
import type { FinishReason } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import { closedInTheMiddle } from '../thrown.ts'
import { contentEvents } from './chat-content.ts'
import { toolPieces } from './chat-tools.ts'
import { readChatUsage } from './chat-usage.ts'
import type { AnswerState, AnswerStep } from './format.ts'
import { fieldsOf, garbled, listOf, openEvent, parseJson, textOf, type Fields } from './reading.ts'

export interface ChatState extends AnswerState {
  /** The id of the answer is known. */
  readonly isNamed: boolean
  /** How many tool calls have begun. */
  readonly toolCalls: number
  /** Words of a refusal came. */
  readonly refused: boolean
}

export type ChatStep = AnswerStep<ChatState>

export const chatStart: ChatState = {
  finish: undefined,
  usage: undefined,
  done: false,
  isNamed: false,
  toolCalls: 0,
  refused: false,
}

/** Reads one event of a chat completion stream (R285): text, reasoning and tool calls become events at once. */
export function readChatEvent(state: ChatState, event: SseEvent): ChatStep {
  const opened = openEvent(event)
  if (opened.kind === 'fault') return opened
  if (opened.kind === 'nothing') {
    const isEnd = event.data.trim() === '[DONE]'
    return { kind: 'events', state: isEnd ? { ...state, done: true } : state, events: [] }
  }
  const error = opened.fields['error'] ?? (event.name === 'error' ? opened.fields : undefined)
  if (isPresent(error)) return { kind: 'fault', fault: faultOfErrorObject(error) }
  return readChoice(state, opened.fields, 'delta')
}

/** Reads a whole chat completion: what servers send that do not stream. */
export function readChatBody(body: string): ChatStep {
  const completion = parseJson(body)
  if (!isObject(completion)) return garbled('answered with JSON that cannot be read', body)
  const error = completion['error']
  if (isPresent(error)) return { kind: 'fault', fault: faultOfErrorObject(error) }
  const step = readChoice(chatStart, completion, 'message')
  if (step.kind === 'fault') return step
  const end = endOfChat(step.state)
  if (end.kind === 'fault') return garbled('answered with JSON that is no chat completion', body)
  return { ...end, events: step.events }
}

/**
 * The state an answer ends with. Without a finish reason or an end mark it is a fault: text that came does not make a
 * cut stream an answer (R288). Some servers end a call of tools with `stop`.
 */
export function endOfChat(state: ChatState): ChatStep {
  if (state.finish === undefined && !state.done) return { kind: 'fault', fault: closedInTheMiddle }
  return { kind: 'events', state: { ...state, finish: finishOf(state) }, events: [] }
}

function finishOf({ finish, toolCalls, refused }: ChatState): FinishReason | undefined {
  if (finish === 'stop' && toolCalls > 0) return 'tool_calls'
  return refused && (finish === 'stop' || finish === undefined) ? 'refusal' : finish
}

function readChoice(state: ChatState, chunk: Fields, part: 'delta' | 'message'): ChatStep {
  const choice = listOf(chunk, 'choices')[0]
  const stopped = textOf(choice, 'finish_reason')
  if (stopped === 'error') return { kind: 'fault', fault: faultOfErrorObject('it gave no reason') }
  const delta = fieldsOf(choice, part)
  const content = contentEvents(delta)
  if (content === undefined) {
    return garbled('sent answer text in a form that is not known', JSON.stringify(delta['content']))
  }
  const id = state.isNamed ? '' : textOf(chunk, 'id')
  const usage = readChatUsage(chunk['usage'])
  const hasTools = isPresent(delta['tool_calls'])
  const refused = state.refused || textOf(delta, 'refusal') !== ''
  // nearly every event of an answer holds text alone
  if (id === '' && usage === undefined && stopped === '' && !hasTools && refused === state.refused) {
    return { kind: 'events', state, events: content }
  }
  const tools = hasTools ? toolPieces(delta, state.toolCalls) : { begun: state.toolCalls, events: [] }
  return {
    kind: 'events',
    state: {
      ...state,
      ...usage,
      finish: stopped === '' ? state.finish : finishReason(stopped),
      isNamed: state.isNamed || id !== '',
      toolCalls: tools.begun,
      refused,
    },
    events: [...(id === '' ? [] : [{ type: 'start', id } as const]), ...content, ...tools.events],
  }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
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
    case 'tool_calls':
    case 'function_call':
    case 'tool_use':
      return 'tool_calls'
    case 'content_filter':
    case 'sensitive':
      return 'content_filter'
    case 'refusal':
      return 'refusal'
    case 'insufficient_system_resource':
    case 'network_error':
    case 'pause_turn':
      return 'incomplete'
    default:
      return 'other'
  }
}
