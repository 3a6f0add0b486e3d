import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { emit, type RunContext } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { textOf, toolCallsOf } from '../event/message.ts'
import { callPlace, type Place } from '../event/place.ts'
import { candidates } from '../model/cool-down.ts'
import type { ModelRequest } from '../model/provider.ts'
import { refuseWithoutTools } from './check-models.ts'
import { type Answer, callModel, type RecordedMessages } from './model-call.ts'
import type { AgentParts, ChosenModel } from './parts.ts'

/** One request of a conversation, and the models that may answer it. */
export interface Turn {
  readonly at: Place
  /** The requested model, and its fallbacks for when it fails for good; an empty name means the default model. */
  readonly models: readonly string[]
  /** The request without its model. */
  readonly request: Omit<ModelRequest, 'model'>
  readonly recorded: RecordedMessages
  readonly itemId: string
  /** An empty answer of the last model is accepted. */
  readonly acceptsEmpty: boolean
}

export interface Answered {
  readonly chosen: ChosenModel
  readonly answer: Answer
}

/**
 * Asks the models in order until one answers. A failed model is in cooldown for a while: other calls of the run ask it
 * last. Only the last model is waited for if its host is overloaded.
 * @throws the error of the only model; with several, that of the first one, which includes the last one's message
 */
export async function askModels(turn: Turn, parts: AgentParts, context: RunContext): Promise<Answered> {
  const { at, models, request, recorded, itemId, acceptsEmpty } = turn
  const order = candidates(models, parts.coolDown)
  const failures: BatonError[] = []
  for (const [step, name] of order.entries()) {
    const next = order[step + 1]
    const patience = next === undefined ? parts : { ...parts, retry: { ...parts.retry, leavesOverloads: true } }
    try {
      const chosen = await parts.chooseModel(name === '' ? undefined : name)
      if (request.tools !== undefined && request.tools.length > 0) refuseWithoutTools(chosen)
      // the place contains the model's index in the list, because the order depends on earlier failures
      const place = callPlace(at, models.indexOf(name))
      const call = { chosen, request: requestFor(chosen, request), recorded, at: place, itemId }
      const answered = { chosen, answer: await callModel(call, patience, context) }
      if (next !== undefined || !acceptsEmpty) refuseEmpty(answered, request)
      return answered
    } catch (error) {
      context.services.signal.throwIfAborted()
      if (!isModelFailure(error)) throw error
      failures.push(error)
      parts.coolDown.rest(name)
      if (next === undefined) break
      emit(context, { type: 'fallback', item_id: itemId, from: shown(name), to: shown(next), error: errorInfo(error) })
    }
  }
  throw allFailed(failures)
}

/**
 * Rejects an answer without text, even though it was paid for, because another model may have one. A tool call makes it
 * an answer only if tools were offered.
 * @throws BatonError MODEL_FAILED
 */
function refuseEmpty({ chosen, answer }: Answered, { tools = [] }: Turn['request']): void {
  const toolCalls = toolCallsOf(answer)
  if (textOf(answer).trim() !== '' || (toolCalls.length > 0 && tools.length > 0)) return
  const [what, hint] = toolCalls.length > 0 ? onlyCalls : emptyAnswers[answer.finish]
  throw new BatonError('MODEL_FAILED', `${chosen.label} ${what}`, { hint })
}

const noWords = [
  'returned an empty answer',
  'Run it again, add detail to the instruction, or name another model.',
] as const

const onlyCalls = [
  'returned an empty answer: it called a tool, but none is offered',
  'Tell the model in the instruction to answer with text, or name another model.',
] as const

const emptyAnswers: { readonly [K in Answer['finish']]: readonly [string, string] } = {
  stop: noWords,
  tool_calls: noWords,
  other: noWords,
  refusal: [
    'refused to answer, without giving a reason',
    'Change the instruction, or name another model in fallback_models.',
  ],
  incomplete: ['stopped before it answered', 'Run it again, or name another model in fallback_models.'],
  length: ['used up its output limit before it answered', 'Raise max_tokens, or lower reasoning_effort.'],
  content_filter: [
    'was stopped by its content filter before it answered',
    'Change the instruction or the files it is given, or name another model in fallback_models.',
  ],
}

/** Failures that another model may not have: everything but an aborted run, a spent budget and a full disk. */
function isModelFailure(error: unknown): error is BatonError {
  return isBatonError(error) && ['MODEL_FAILED', 'KEY_MISSING', 'KEY_REFUSED', 'LIMIT'].includes(error.code)
}

function allFailed(failures: readonly BatonError[]): BatonError {
  const [first, ...others] = failures
  if (first === undefined) return new BatonError('CONFIG_INVALID', 'no model is named')
  const last = others.at(-1)
  if (last === undefined) return first
  return rewordError(first, { message: `${first.message}; the fallback models failed too: ${last.message}` })
}

function shown(name: string): string {
  return name === '' ? 'the default model' : name
}

function requestFor({ model, reasoningEffort }: ChosenModel, request: Turn['request']): ModelRequest {
  return { ...request, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }), model }
}
