import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { defined, type JsonObject } from '../base/json.ts'
import { emit, type RunContext, withServices } from '../event/context.ts'
import type { Granted } from '../event/effects.ts'
import { errorInfo } from '../event/error-info.ts'
import { reasoningOf, textOf, toolCallsOf, type Usage } from '../event/message.ts'
import { callPlace, type Place } from '../event/place.ts'
import { assembleAnswer, type Assembly, type ModelAnswer } from '../model/assemble.ts'
import { candidates } from '../model/cool-down.ts'
import { batchShare } from '../model/batch/api.ts'
import { estimateOf, estimateTokens, estimatedUsage, usageOfFailedCall } from '../model/estimate.ts'
import type { TokenPrices } from '../model/prices.ts'
import type { ModelRequest } from '../model/provider.ts'
import { callWithRetries } from '../model/retry.ts'
import { refuseWithoutTools } from './check-models.ts'
import type { RecordedMessages } from './message-log.ts'
import type { AgentParts, ChosenModel } from './parts.ts'
import { adaptMessages } from './supported-files.ts'

/** One request of a conversation, and the models that may answer it. */
export interface Question {
  readonly at: Place
  /** The requested model, and its fallbacks for when it fails for good; an empty name means the default model. */
  readonly models: readonly string[]
  readonly request: Omit<ModelRequest, 'model'>
  readonly recorded: RecordedMessages
  readonly itemId: string
  /** An empty answer of the last model is accepted. `again`: if another request may get one with content. */
  readonly acceptsEmpty: boolean | 'again'
  /** The call of the first model may be sent in a batch. */
  readonly isBatched?: boolean
  /** Called with the text of an answer that does not arrive in full. */
  readonly onBroken?: (text: string) => void
}

export interface ModelCallResult {
  readonly chosen: ChosenModel
  readonly answer: Answer
  /** The error that its answer is empty, which is left to the caller. */
  readonly empty?: EmptyAnswer
}

export interface EmptyAnswer {
  readonly error: BatonError
  /** It called a tool, but none is offered. */
  readonly hasCalls: boolean
}

/**
 * Asks the models in order until one answers. A failed model is in cooldown for a while: other calls of the run ask it
 * last. Only the last model is waited for if its host is overloaded.
 * @throws the error of the only model; with several, that of the first one, which includes the last one's message
 */
export async function askModels(question: Question, parts: AgentParts, context: RunContext): Promise<ModelCallResult> {
  const { at, models, request, recorded, itemId, acceptsEmpty, isBatched = false, onBroken } = question
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
      const own = { chosen, request: requestFor(chosen, request), recorded, at: place }
      const call = { ...own, itemId, isBatched, ...defined({ onBroken }) }
      const answered = { chosen, answer: await callModel(call, patience, context) }
      const empty = emptyAnswer(answered, request)
      if (empty === undefined || (next === undefined && acceptsEmpty === true)) return answered
      if (next !== undefined || acceptsEmpty === false || !empty.mayPass) throw empty.error
      return { ...answered, empty: { error: allFailed([...failures, empty.error]), hasCalls: empty.hasCalls } }
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

/** The result of a model call. It is recorded, so it is plain JSON. */
interface Answer extends Omit<ModelAnswer, 'costUsd'> {
  /** Null if the price of the model is not known. */
  readonly costUsd: number | null
  /** The duration, including all attempts. */
  readonly seconds: number
  /** The id of the batch that it came in; omitted: in none. */
  readonly batch?: string
}

interface ModelCall extends Pick<Question, 'onBroken'> {
  readonly chosen: ChosenModel
  readonly request: ModelRequest
  /** The messages of the request to record; earlier ones are recorded by their hash. */
  readonly recorded: RecordedMessages
  readonly at: Place
  /** The item that the pieces of the answer belong to. */
  readonly itemId: string
  readonly isBatched: boolean
}

/**
 * Calls a model as one `model` effect: recorded before and after, and safe to repeat. Temporary failures are retried
 * inside the effect, each attempt with its own reservation; a slot of the process's request limit is held only while a
 * request is in progress.
 * @throws BatonError MODEL_FAILED, KEY_REFUSED, LIMIT (the host requires a longer wait than the patience allows),
 * BUDGET, UNTRUSTED
 */
async function callModel(call: ModelCall, parts: AgentParts, context: RunContext): Promise<Answer> {
  const { chosen, request, recorded, at, itemId } = call
  const { model, label } = chosen
  const { messages: _, ...settings } = request
  const seat = parts.batches && (await (await parts.batches()).seatFor(call, context))
  const perToken = parts.limitsCost() ? await pricesPerToken(call, parts) : undefined
  const answered = context.services.effects.perform<Answer>(
    at,
    {
      kind: 'model',
      request: { provider: label, ...(settings as unknown as JsonObject), ...(recorded as unknown as JsonObject) },
      action: { kind: 'model', model, label },
      repeat: 'safe',
      estimate: estimateOf(request, seat === undefined ? perToken : inBatch(perToken)),
      costOf: ({ usage, costUsd }) => ({ model: label, usage, costUsd }),
    },
    async (stop, granted) => {
      const time = parts.retry.clock.startStopwatch()
      try {
        const untimed = await callWithin(stop, granted)
        return { ...untimed, seconds: time.elapsedMs() / 1000 }
      } finally {
        time.end()
      }
    },
  )
  try {
    return await answered
  } finally {
    await seat?.end(context.services.signal)
  }

  async function callWithin(stop: AbortSignal, granted: Granted): Promise<Untimed> {
    // `stop` aborts when the run ends, the signal of the context when a sibling failed
    const signal = AbortSignal.any([stop, context.services.signal])
    const inner = withServices(context, { signal })
    const messages = await adaptMessages(request.messages, chosen.taken, signal)
    const sent = withLimit({ ...request, messages }, granted.outputTokens)
    const delivered = await seat?.answer(sent, granted, inner)
    if (delivered !== undefined) {
      for (const warning of chosen.unsent?.(sent) ?? []) emit(context, { type: 'warning', ...warning })
      const came = { ...call, chosen: { ...chosen, provider: { ...chosen.provider, stream: delivered.stream } } }
      const limits = { parts, granted, isLimited: granted.outputTokens !== undefined }
      const { costUsd, ...answer } = await consume({ ...came, request: sent }, limits, inner)
      return { ...answer, costUsd: costUsd === null ? null : costUsd * batchShare, batch: delivered.batch }
    }
    const tryOnce = async (attempt: number): Promise<Untimed> => {
      const { outputTokens } = attempt === 1 ? granted : await granted.again()
      const limited = { ...call, request: withLimit({ ...request, messages }, outputTokens) }
      for (const warning of chosen.unsent?.(limited.request) ?? []) emit(context, { type: 'warning', ...warning })
      const isLimited = outputTokens !== undefined
      return parts.modelPool.run(() => consume(limited, { parts, granted, isLimited }, inner), signal)
    }
    const { retry } = parts
    const { outageMs, spareOutageMs = outageMs } = retry
    return callWithRetries(tryOnce, {
      ...retry,
      outageMs: context.scope.isSpare === true ? spareOutageMs : outageMs,
      signal,
      onRetry: ({ attempt, delayMs, leftMs, error }) =>
        emit(context, {
          type: 'retry',
          item_id: itemId,
          model: label,
          attempt,
          delay_ms: delayMs,
          ...(leftMs === undefined ? {} : { left_ms: Math.round(leftMs) }),
          error: errorInfo(error),
        }),
    })
  }
}

type Untimed = Omit<Answer, 'seconds'>

function inBatch(prices: TokenPrices | undefined): TokenPrices | undefined {
  return prices && { input: prices.input * batchShare, output: prices.output * batchShare }
}

async function pricesPerToken({ chosen, request }: ModelCall, parts: AgentParts): Promise<TokenPrices | undefined> {
  if (chosen.priced.isFree) return { input: 0, output: 0 }
  const prices = await parts.prices()
  return prices.perToken(chosen.priced, estimateTokens(request.messages, request.tools))
}

function withLimit(request: ModelRequest, outputTokens: number | undefined): ModelRequest {
  return outputTokens === undefined ? request : { ...request, max_tokens: outputTokens }
}

/** Limit of characters in one answer; an endless answer would otherwise exhaust the memory. */
const maxCharacters = 64 * 1024 * 1024

interface Try {
  readonly parts: AgentParts
  readonly granted: Granted
  /** Whether a budget limits its tokens or cost. */
  readonly isLimited: boolean
}

/** Sends one request. The usage of a failed request is counted immediately. */
async function consume(call: ModelCall, { parts, granted, isLimited }: Try, context: RunContext): Promise<Untimed> {
  const { chosen, request } = call
  // loaded while the model answers
  const prices = chosen.priced.isFree ? undefined : parts.prices()
  prices?.catch(() => undefined)
  const arrived = assembleAnswer()
  try {
    await receive(call, arrived, context)
  } catch (error) {
    call.onBroken?.(textOf(arrived.answer()))
    if (context.services.signal.aborted) throw error
    const usage = usageOfFailedCall(error, request, arrivedText(arrived.answer()))
    const costUsd = prices === undefined ? 0 : estimatedCost(usage, (await prices).perToken(chosen.priced, usage.input))
    granted.failed({ model: chosen.label, usage, costUsd })
    throw error
  }
  const { costUsd: ownCost, ...answer } = arrived.answer()
  const usage = countedUsage(answer, call)
  const warning = isLimited && usage !== answer.usage ? chosen.usageWarning?.() : undefined
  if (warning !== undefined) emit(context, { type: 'warning', ...warning })
  const costUsd = ownCost ?? (prices === undefined ? 0 : ((await prices).costOf(chosen.priced, usage) ?? null))
  return { ...answer, usage, costUsd }
}

/** The reported usage of an answer; an estimate if the server reported none, or zeros. */
function countedUsage(answer: ModelAnswer, { chosen, request }: ModelCall): Usage {
  const { usage } = answer
  if (usage.input + usage.output > 0 || chosen.provider.usesTokens === false) return usage
  return estimatedUsage(request, arrivedText(answer))
}

async function receive({ chosen, request, itemId }: ModelCall, arrived: Assembly, context: RunContext): Promise<void> {
  for await (const event of chosen.provider.stream(request, context.services.signal)) {
    arrived.add(event)
    if (event.type === 'text') emit(context, { type: 'item.delta', item_id: itemId, text: event.text })
    if (event.type === 'reasoning') {
      emit(context, { type: 'item.delta', item_id: itemId, text: event.text, reasoning: true })
    }
    if (arrived.size() <= maxCharacters) continue
    if (!arrived.hasCut()) throw endless(chosen)
    // the call will be rejected anyway, so the rest of the answer is not awaited
    const usage = estimatedUsage(request, arrivedText(arrived.answer()))
    for (const last of [
      { type: 'usage', usage },
      { type: 'finish', reason: 'tool_calls' },
    ] as const)
      arrived.add(last)
    return
  }
}

function arrivedText(answer: ModelAnswer): string {
  const inputs = toolCallsOf(answer).map(({ input }) => input)
  return [textOf(answer), reasoningOf(answer), ...inputs].join('')
}

function estimatedCost({ input, output }: Usage, perToken: TokenPrices | undefined): number | null {
  return perToken === undefined ? null : input * perToken.input + output * perToken.output
}

function endless({ label }: ChosenModel): BatonError {
  return new BatonError('MODEL_FAILED', `${label} did not stop: its answer has more than 64 million characters`, {
    hint: 'Set max_tokens.',
  })
}

/**
 * The error of an answer without text, even though it was paid for, because another model may have one. A tool call makes
 * it an answer only if tools were offered.
 */
function emptyAnswer({ chosen, answer }: ModelCallResult, { tools = [] }: Question['request']) {
  const toolCalls = toolCallsOf(answer)
  if (textOf(answer).trim() !== '' || (toolCalls.length > 0 && tools.length > 0)) return undefined
  const hasCalls = toolCalls.length > 0
  const found = hasCalls ? onlyCalls : emptyAnswers[answer.finish]
  const [what, hint] = found
  const error = new BatonError('MODEL_FAILED', `${chosen.label} ${what}`, { reason: 'EMPTY_ANSWER', hint })
  return { error, hasCalls, mayPass: hasCalls || found === noWords }
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

/** Whether a request did not fit into the context of its model. */
export function isTooLong(error: unknown): error is BatonError {
  return isBatonError(error) && error.reason === 'CONTEXT_EXCEEDED'
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
  // with a shorter conversation, the model for which it is too long can answer
  const error = failures.find(isTooLong) ?? first
  return rewordError(error, { message: `${first.message}; the fallback models failed too: ${last.message}` })
}

function shown(name: string): string {
  return name === '' ? 'the default model' : name
}

function requestFor({ model, reasoningEffort }: ChosenModel, request: Question['request']): ModelRequest {
  return { ...request, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }), model }
}
