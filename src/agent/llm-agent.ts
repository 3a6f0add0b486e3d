import type { AgentRequest, AgentResult, ModelAgent } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import { askInOrder } from './model-ladder.ts'
import type { AgentParts } from './parts.ts'
import { emptyResult } from './result.ts'

type ModelAgentRequest = Extract<AgentRequest, { readonly agent: ModelAgent }>

/**
 * Asks a model once and streams its answer as `item.*` events (mode `classic` without tools); when it fails for good,
 * the models of `fallback_models` in order.
 * @throws BatonError MODEL_FAILED, KEY_MISSING, KEY_REFUSED, LIMIT, BUDGET
 */
export async function runModel(
  { agent, messages }: ModelAgentRequest,
  parts: AgentParts,
  context: RunContext,
): Promise<AgentResult> {
  const { model: name, ...settings } = agent.settings
  const item = { id: `${context.at.join('/')}/message`, type: 'agent_message' } as const
  const request = { ...settings, messages, ...(agent.output === undefined ? {} : { output: agent.output }) }
  emit(context, { type: 'item.started', item })
  const { chosen, answer } = await askInOrder(
    { names: [name ?? '', ...(agent.fallbackModels ?? [])], request, itemId: item.id },
    parts,
    context,
  )

  const { text, reasoning, usage, finish, costUsd } = answer
  if (text.trim() === '') emit(context, { type: 'warning', message: `${chosen.label} gave an empty answer` })
  if (finish === 'content_filter') {
    emit(context, {
      type: 'warning',
      message: `${chosen.label} was stopped by its content filter: the answer is not whole`,
    })
  }
  emit(context, { type: 'item.completed', item: { ...item, text } })
  const total = context.meter({ model: chosen.label, usage, costUsd })
  emit(context, {
    type: 'usage',
    model: chosen.label,
    call: usage,
    total: total.usage,
    cost_usd: costUsd,
    total_cost_usd: total.costUsd,
  })
  return {
    ...emptyResult,
    stopReason: finish === 'length' ? 'max_tokens' : 'done',
    text,
    reasoning,
    model: { name: chosen.model, provider: chosen.provider.name },
    messages: [...messages, { role: 'assistant', content: text }],
    usage,
    costUsd,
  }
}
