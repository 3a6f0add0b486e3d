import type { JsonObject } from '../base/json.ts'
import type { AgentRequest, AgentResult, ModelAgent } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import { hostCallPlace } from '../event/effects.ts'
import { addUsage, noUsage, type Usage } from '../event/message.ts'
import type { FinishReason, ModelRequest } from '../model/provider.ts'
import type { AgentParts, ChosenModel } from './parts.ts'
import { emptyResult } from './result.ts'

type ModelAgentRequest = Extract<AgentRequest, { readonly agent: ModelAgent }>

/** What one model call gave; it is recorded, so it is plain JSON. */
interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly usage: Usage
  readonly finish: FinishReason
}

/**
 * Asks a model once and streams its answer as `item.*` events (mode `classic` without tools).
 * The call is a `model` effect: recorded before and after, and safe to be sent again (DESIGN 11).
 * @throws BatonError MODEL_FAILED, KEY_MISSING, KEY_REFUSED
 */
export async function runModel(
  { agent, messages }: ModelAgentRequest,
  parts: AgentParts,
  context: RunContext,
): Promise<AgentResult> {
  const chosen = await parts.chooseModel(agent.settings.model)
  const { model: _, ...settings } = agent.settings
  const request: ModelRequest = {
    ...settings,
    ...(chosen.reasoningEffort === undefined ? {} : { reasoning_effort: chosen.reasoningEffort }),
    model: chosen.model,
    messages,
  }
  const at = hostCallPlace(context.at, 0)
  const item = { id: `${context.at.join('/')}/message`, type: 'agent_message' } as const
  emit(context, { type: 'item.started', item })

  const answer = await context.effects.perform(
    at,
    {
      kind: 'model',
      request: { provider: chosen.label, ...(request as unknown as JsonObject) },
      repeat: 'safe',
      estimate: estimate(request),
    },
    (stop) => {
      // the effect knows when the run ends, the context when a sibling failed
      const signal = AbortSignal.any([stop, context.signal])
      return parts.modelPool.run(() => consume(chosen, request, { ...context, signal }, item.id), signal)
    },
  )

  if (answer.text.trim() === '') emit(context, { type: 'warning', message: `${chosen.label} gave an empty answer` })
  if (answer.finish === 'content_filter') {
    emit(context, {
      type: 'warning',
      message: `${chosen.label} was stopped by its content filter: the answer is not whole`,
    })
  }
  emit(context, { type: 'item.completed', item: { ...item, text: answer.text } })
  emit(context, { type: 'usage', model: chosen.label, call: answer.usage, total: context.meter(answer.usage) })
  return {
    ...emptyResult,
    stopReason: answer.finish === 'length' ? 'max_tokens' : 'done',
    text: answer.text,
    reasoning: answer.reasoning,
    model: { name: chosen.model, provider: chosen.provider.name },
    messages: [...messages, { role: 'assistant', content: answer.text }],
    usage: answer.usage,
  }
}

async function consume(
  chosen: ChosenModel,
  request: ModelRequest,
  context: RunContext,
  itemId: string,
): Promise<Answer> {
  let text = ''
  let reasoning = ''
  let usage: Usage = noUsage
  let finish: FinishReason = 'other'
  for await (const event of chosen.provider.stream(request, context.signal)) {
    switch (event.type) {
      case 'text':
        text += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text })
        break
      case 'reasoning':
        reasoning += event.text
        emit(context, { type: 'item.delta', item_id: itemId, text: event.text, reasoning: true })
        break
      case 'usage':
        usage = addUsage(usage, event.usage)
        break
      case 'finish':
        finish = event.reason
        break
    }
  }
  return { text, reasoning, usage, finish }
}

// 3.6 bytes a token is what spec/parts.md 4 measured for source code; good enough to reserve a budget with
const bytesPerToken = 3.6

function estimate({ messages, max_tokens }: ModelRequest): { readonly tokens: number } {
  const bytes = messages.reduce((sum, { content }) => sum + content.length, 0)
  return { tokens: Math.ceil(bytes / bytesPerToken) + (max_tokens ?? 0) }
}
