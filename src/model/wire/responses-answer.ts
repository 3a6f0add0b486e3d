import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject } from '../faults.ts'
import type { FinishReason, ModelEvent } from '../provider.ts'
import type { AnswerState } from './format.ts'
import { countOf, fieldsOf, listOf, textEvents, textOf, type Fields } from './reading.ts'

type Ending =
  | { readonly kind: 'found'; readonly found: Pick<AnswerState, 'finish' | 'usage' | 'costUsd'> }
  | { readonly kind: 'fault'; readonly fault: ModelFault }

/** What came of an answer besides its text. */
interface Came {
  /** The model asked for a tool. */
  readonly called: boolean
  /** Its words are a refusal. */
  readonly refused: boolean
}

/** What a response object says at its end. */
export function ending(response: Fields, came: Came): Ending {
  const { status, error } = response
  if (error !== undefined && error !== null) return { kind: 'fault', fault: faultOfErrorObject(error) }
  if (status === 'failed' || status === 'cancelled') {
    return { kind: 'fault', fault: faultOfErrorObject(`the response is ${status}, without a reason`) }
  }
  const cost = fieldsOf(response, 'usage')['cost']
  const finish = finishReason(response, came)
  const usage = usageOf(response['usage'])
  return { kind: 'found', found: { finish, usage, ...(typeof cost === 'number' ? { costUsd: cost } : {}) } }
}

function finishReason(response: Fields, { called, refused }: Came): FinishReason | undefined {
  switch (response['status']) {
    case 'completed':
      if (called) return 'tool_calls'
      return refused ? 'refusal' : 'stop'
    case 'incomplete':
      return incompleteReason(textOf(response['incomplete_details'], 'reason'))
    default:
      return undefined
  }
}

function incompleteReason(reason: string): FinishReason {
  if (reason === 'max_output_tokens') return 'length'
  return reason === 'content_filter' ? 'content_filter' : 'incomplete'
}

function usageOf(usage: unknown): Usage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const written = countOf(fieldsOf(usage, 'input_tokens_details'), 'cache_write_tokens')
  return {
    calls: 1,
    input: countOf(usage, 'input_tokens'),
    output: countOf(usage, 'output_tokens'),
    cached: countOf(fieldsOf(usage, 'input_tokens_details'), 'cached_tokens'),
    reasoning: countOf(fieldsOf(usage, 'output_tokens_details'), 'reasoning_tokens'),
    ...(written === 0 ? {} : { cache_write: written }),
  }
}

/** The output of a whole response as the events it would have been streamed as. */
export function outputEvents(response: Fields): readonly ModelEvent[] {
  const events: ModelEvent[] = []
  let calls = 0
  for (const item of listOf(response, 'output')) {
    const kind = textOf(item, 'type')
    if (kind === 'reasoning') events.push(...textEvents('reasoning', reasoningText(item)))
    if (kind === 'message') events.push(...textEvents('text', messageText(item)))
    if (kind !== 'function_call') continue
    const call = { id: textOf(item, 'call_id'), name: textOf(item, 'name'), arguments: textOf(item, 'arguments') }
    events.push({ type: 'tool_call', index: calls, ...call })
    calls += 1
  }
  return events
}

function reasoningText(item: unknown): string {
  return [...listOf(item, 'summary'), ...listOf(item, 'content')].map((part) => textOf(part, 'text')).join('\n\n')
}

function messageText(item: unknown): string {
  return listOf(item, 'content').map(partText).join('')
}

/** The words of a part of a message. */
export function partText(part: unknown): string {
  return textOf(part, 'text') || textOf(part, 'refusal')
}

/** Whether the model refuses in a message of the whole response. */
export function holdsRefusal(response: Fields): boolean {
  return listOf(response, 'output').some((item) => listOf(item, 'content').some(isRefusal))
}

/** Whether a part of a message is a refusal. */
export function isRefusal(part: unknown): boolean {
  return textOf(part, 'refusal') !== ''
}
