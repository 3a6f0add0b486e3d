import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { emit, type RunContext } from '../event/context.ts'
import { hostCallPlace } from '../event/effects.ts'
import { errorInfo } from '../event/error-info.ts'
import { candidates } from '../model/cool-down.ts'
import type { ModelRequest } from '../model/provider.ts'
import { countAnswered } from './count-call.ts'
import { type Answer, type CallOutcome, callModel } from './model-call.ts'
import type { AgentParts, ChosenModel } from './parts.ts'

export interface Ladder {
  /** The model that was asked for, and those that take its place when it fails for good; empty: the default one. */
  readonly names: readonly string[]
  /** The request without its model. */
  readonly request: Omit<ModelRequest, 'model'>
  readonly itemId: string
  /** An empty answer of the last model is one. */
  readonly takesEmpty: boolean
}

export interface Answered extends CallOutcome {
  readonly chosen: ChosenModel
}

/**
 * Asks the models in order until one answers (DESIGN 8 `fallback_models`). A model that failed rests for a while: other
 * calls of the run ask it last. Only the last one is waited for when its host is overloaded.
 * @throws the error of the only model; with several that of the first one, which names the last one's
 */
export async function askInOrder(
  { names, request, itemId, takesEmpty }: Ladder,
  parts: AgentParts,
  context: RunContext,
): Promise<Answered> {
  const order = candidates(names, parts.coolDown)
  const failures: BatonError[] = []
  for (const [step, name] of order.entries()) {
    const next = order[step + 1]
    const patience = next === undefined ? parts : { ...parts, retry: { ...parts.retry, leavesOverloads: true } }
    try {
      const chosen = await parts.chooseModel(name === '' ? undefined : name)
      refuseUngranted(chosen, context)
      // the place says which model of the list it is, because the order depends on what failed before
      const at = hostCallPlace(context.at, names.indexOf(name))
      const outcome = await callModel({ chosen, request: requestFor(chosen, request), at, itemId }, patience, context)
      const answered = { chosen, ...outcome }
      if (next !== undefined || !takesEmpty) refuseEmpty(answered, request, context)
      return answered
    } catch (error) {
      context.signal.throwIfAborted()
      if (!isModelFailure(error)) throw error
      failures.push(error)
      parts.coolDown.rest(name)
      if (next === undefined) break
      emit(context, { type: 'fallback', item_id: itemId, from: shown(name), to: shown(next), error: errorInfo(error) })
    }
  }
  throw allFailed(failures)
}

/** @throws BatonError UNTRUSTED for a model that the pack of the agent was not granted */
function refuseUngranted(chosen: ChosenModel, { rights }: RunContext): void {
  const reason = rights?.model(chosen)
  if (reason === undefined) return
  throw new BatonError('UNTRUSTED', reason, { hint: 'Name a model that [capabilities] of its pack.toml names.' })
}

/**
 * An answer without a word is none, though it was paid for: another model may have one. A call of a tool makes it one
 * only where tools were offered.
 * @throws BatonError MODEL_FAILED
 */
function refuseEmpty(
  { chosen, answer, isNew }: Answered,
  { tools = [] }: Ladder['request'],
  context: RunContext,
): void {
  const { text, toolCalls, finish, usage, costUsd } = answer
  if (text.trim() !== '' || (toolCalls.length > 0 && tools.length > 0)) return
  countAnswered({ chosen, usage, costUsd, isNew }, context)
  const [what, hint] = toolCalls.length > 0 ? onlyCalls : emptyAnswers[finish]
  throw new BatonError('MODEL_FAILED', `${chosen.label} ${what}`, { hint })
}

const noWords = ['gave an empty answer', 'Run it again, say more in the instruction, or name another model.'] as const

const onlyCalls = [
  'gave an empty answer: it called a tool, and it has none',
  'Say in the instruction that the answer is text, or name another model.',
] as const

const emptyAnswers: { readonly [K in Answer['finish']]: readonly [string, string] } = {
  stop: noWords,
  tool_calls: noWords,
  other: noWords,
  refusal: ['refused to answer, without a word', 'Change the instruction, or name another model in fallback_models.'],
  incomplete: ['stopped before it answered', 'Run it again, or name another model in fallback_models.'],
  length: ['used up its output limit before it answered', 'Raise max_tokens, or lower reasoning_effort.'],
  content_filter: [
    'was stopped by its content filter before it answered',
    'Change the instruction or the files it is given, or name another model in fallback_models.',
  ],
}

/** Failures that another model may not have: everything but a stopped run, a spent budget and a full disk. */
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

function requestFor({ model, reasoningEffort }: ChosenModel, request: Omit<ModelRequest, 'model'>): ModelRequest {
  return { ...request, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }), model }
}
