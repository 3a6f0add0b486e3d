import type { JsonObject } from '../base/json.ts'
import { BatonError } from '../base/error.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Granted, Place } from '../event/effects.ts'
import { errorInfo } from '../event/error-info.ts'
import { addUsage, noUsage, type ToolCall, type Usage } from '../event/message.ts'
import { estimateOf, estimateTokens, usageOfFailedCall } from '../model/estimate.ts'
import type { TokenPrices } from '../model/prices.ts'
import type { FinishReason, ModelRequest } from '../model/provider.ts'
import { callWithRetries } from '../model/retry.ts'
import { countCall } from './count-call.ts'
import type { AgentParts, ChosenModel } from './parts.ts'

/** What one model call gave; it is recorded, so it is plain JSON. */
export interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  readonly usage: Usage
  readonly finish: FinishReason
  /** Null when the price of the model is not known. */
  readonly costUsd: number | null
  /** How long it took, with all its tries. */
  readonly seconds: number
}

/** An answer, and whether it was paid for now: one that a record gave is counted already. */
export interface CallOutcome {
  readonly answer: Answer
  readonly isNew: boolean
}

export interface ModelCall {
  readonly chosen: ChosenModel
  readonly request: ModelRequest
  readonly at: Place
  /** The item that the pieces of the answer belong to. */
  readonly itemId: string
}

/**
 * Calls a model as one `model` effect: recorded before and after, and safe to be sent again (DESIGN 11). What fails for
 * the moment is tried again inside the effect, each try with a reservation of its own; a place among the model requests
 * of the process is held only while a request is under way.
 * @throws BatonError MODEL_FAILED, KEY_REFUSED, LIMIT (the host asks for more patience than there is), BUDGET
 */
export async function callModel(call: ModelCall, parts: AgentParts, context: RunContext): Promise<CallOutcome> {
  const { chosen, request, at, itemId } = call
  let isNew = false
  const perToken = parts.limitsCost() ? await pricesPerToken(call, parts) : undefined
  const answer = await context.effects.perform(
    at,
    {
      kind: 'model',
      request: { provider: chosen.label, ...(request as unknown as JsonObject) },
      repeat: 'safe',
      estimate: estimateOf(request, perToken),
    },
    async (stop, granted) => {
      isNew = true
      const started = performance.now()
      // the effect knows when the run ends, the context when a sibling failed
      const signal = AbortSignal.any([stop, context.signal])
      const inner = { ...context, signal }
      const tryOnce = async (attempt: number): Promise<Untimed> => {
        const { outputTokens } = attempt === 1 ? granted : await granted.again()
        const limited = { ...call, request: withLimit(request, outputTokens) }
        for (const warning of chosen.unsent?.(limited.request) ?? []) emit(context, { type: 'warning', ...warning })
        return parts.modelPool.run(() => consume(limited, { parts, granted }, inner), signal)
      }
      const untimed = await callWithRetries(tryOnce, {
        ...parts.retry,
        signal,
        onRetry: ({ attempt, delayMs, error }) =>
          emit(context, {
            type: 'retry',
            item_id: itemId,
            model: chosen.label,
            attempt,
            delay_ms: delayMs,
            error: errorInfo(error),
          }),
      })
      return { ...untimed, seconds: (performance.now() - started) / 1000 }
    },
  )
  return { answer, isNew }
}

type Untimed = Omit<Answer, 'seconds'>

async function pricesPerToken({ chosen, request }: ModelCall, parts: AgentParts): Promise<TokenPrices | undefined> {
  if (chosen.priced.isFree) return { input: 0, output: 0 }
  const prices = await parts.prices()
  return prices.perToken(chosen.priced, estimateTokens(request.messages, request.tools))
}

function withLimit(request: ModelRequest, outputTokens: number | undefined): ModelRequest {
  return outputTokens === undefined ? request : { ...request, max_tokens: outputTokens }
}

/** Characters of one answer; a model that never ends would otherwise fill the memory. */
const maxCharacters = 64 * 1024 * 1024

interface Try {
  readonly parts: AgentParts
  readonly granted: Granted
}

/** What came of an answer so far. */
interface Arrived {
  text: string
  reasoning: string
  readonly calls: Map<number, ToolCall>
  usage: Usage
  ownCost: number | undefined
  finish: FinishReason
}

/** One request. When it fails, what it did cost is counted, in the budget and in the total of the run. */
async function consume(call: ModelCall, { parts, granted }: Try, context: RunContext): Promise<Untimed> {
  const { chosen, request } = call
  // loaded while the model answers
  const prices = chosen.priced.isFree ? undefined : parts.prices()
  prices?.catch(() => undefined)
  const arrived: Arrived = {
    text: '',
    reasoning: '',
    calls: new Map(),
    usage: noUsage,
    ownCost: undefined,
    finish: 'other',
  }
  try {
    await receive(call, arrived, context)
  } catch (error) {
    if (context.signal.aborted) throw error
    const usage = usageOfFailedCall(error, request, cameOf(arrived))
    const costUsd = prices === undefined ? 0 : estimatedCost(usage, (await prices).perToken(chosen.priced, usage.input))
    granted.failed({ calls: 1, tokens: usage.input + usage.output, ...(costUsd === null ? {} : { usd: costUsd }) })
    countCall({ chosen, usage, costUsd }, context)
    throw error
  }
  const { text, reasoning, calls, usage, ownCost, finish } = arrived
  const costUsd = ownCost ?? (prices === undefined ? 0 : ((await prices).costOf(chosen.priced, usage) ?? null))
  const toolCalls = [...calls.entries()].toSorted(([left], [right]) => left - right).map(([, asked]) => asked)
  return { text, reasoning, toolCalls, usage, finish, costUsd }
}

async function receive({ chosen, request, itemId }: ModelCall, arrived: Arrived, context: RunContext): Promise<void> {
  for await (const event of chosen.provider.stream(request, context.signal)) {
    switch (event.type) {
      case 'start':
        break
      case 'text':
        arrived.text += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text })
        break
      case 'reasoning':
        arrived.reasoning += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text, reasoning: true })
        break
      case 'tool_call': {
        const { id, name, arguments: begun } = arrived.calls.get(event.index) ?? { id: '', name: '', arguments: '' }
        arrived.calls.set(event.index, {
          id: event.id ?? id,
          name: event.name ?? name,
          arguments: begun + event.arguments,
        })
        break
      }
      case 'usage':
        arrived.usage = addUsage(arrived.usage, event.usage)
        arrived.ownCost = event.costUsd
        break
      case 'finish':
        arrived.finish = event.reason
        break
    }
    if (arrived.text.length + arrived.reasoning.length > maxCharacters) throw endless(chosen)
  }
}

function cameOf({ text, reasoning, calls }: Arrived): string {
  return [text, reasoning, ...[...calls.values()].map((asked) => asked.arguments)].join('')
}

function estimatedCost({ input, output }: Usage, perToken: TokenPrices | undefined): number | null {
  return perToken === undefined ? null : input * perToken.input + output * perToken.output
}

function endless({ label }: ChosenModel): BatonError {
  return new BatonError('MODEL_FAILED', `${label} did not stop: its answer has more than 64 million characters`, {
    hint: 'Set max_tokens.',
  })
}
