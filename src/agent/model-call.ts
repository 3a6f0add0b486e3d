import type { JsonObject } from '../base/json.ts'
import { BatonError } from '../base/error.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Place } from '../event/effects.ts'
import { errorInfo } from '../event/error-info.ts'
import { addUsage, noUsage, type ToolCall, type Usage } from '../event/message.ts'
import { estimateOf, estimateTokens } from '../model/estimate.ts'
import type { TokenPrices } from '../model/prices.ts'
import type { FinishReason, ModelRequest } from '../model/provider.ts'
import { callWithRetries } from '../model/retry.ts'
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
 * the moment is tried again inside the effect, so that a budget is reserved once; a place among the model requests of
 * the process is held only while a request is under way.
 * @throws BatonError MODEL_FAILED, KEY_REFUSED, LIMIT (the host asks for more patience than there is), BUDGET
 */
export async function callModel(call: ModelCall, parts: AgentParts, context: RunContext): Promise<Answer> {
  const { chosen, request, at, itemId } = call
  const perToken = parts.limitsCost ? await pricesPerToken(call, parts) : undefined
  return context.effects.perform(
    at,
    {
      kind: 'model',
      request: { provider: chosen.label, ...(request as unknown as JsonObject) },
      repeat: 'safe',
      estimate: estimateOf(request, perToken),
    },
    (stop, grant) => {
      // the effect knows when the run ends, the context when a sibling failed
      const signal = AbortSignal.any([stop, context.signal])
      const limited = { ...call, request: withLimit(request, grant.outputTokens) }
      return callWithRetries(() => parts.modelPool.run(() => consume(limited, parts, { ...context, signal }), signal), {
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
    },
  )
}

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

async function consume(
  { chosen, request, itemId }: ModelCall,
  parts: AgentParts,
  context: RunContext,
): Promise<Answer> {
  // loaded while the model answers
  const prices = chosen.priced.isFree ? undefined : parts.prices()
  prices?.catch(() => undefined)
  const calls = new Map<number, ToolCall>()
  let text = ''
  let reasoning = ''
  let usage: Usage = noUsage
  let ownCost: number | undefined
  let finish: FinishReason = 'other'
  for await (const event of chosen.provider.stream(request, context.signal)) {
    switch (event.type) {
      case 'start':
        break
      case 'text':
        text += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text })
        break
      case 'reasoning':
        reasoning += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text, reasoning: true })
        break
      case 'tool_call': {
        const { id, name, arguments: begun } = calls.get(event.index) ?? { id: '', name: '', arguments: '' }
        calls.set(event.index, {
          id: event.id ?? id,
          name: event.name ?? name,
          arguments: begun + event.arguments,
        })
        break
      }
      case 'usage':
        usage = addUsage(usage, event.usage)
        ownCost = event.costUsd
        break
      case 'finish':
        finish = event.reason
        break
    }
    if (text.length + reasoning.length > maxCharacters) throw endless(chosen)
  }
  const costUsd = ownCost ?? (prices === undefined ? 0 : ((await prices).costOf(chosen.priced, usage) ?? null))
  const toolCalls = [...calls.entries()].toSorted(([left], [right]) => left - right).map(([, asked]) => asked)
  return { text, reasoning, toolCalls, usage, finish, costUsd }
}

function endless({ label }: ChosenModel): BatonError {
  return new BatonError('MODEL_FAILED', `${label} did not stop: its answer has more than 64 million characters`, {
    hint: 'Set max_tokens.',
  })
}
