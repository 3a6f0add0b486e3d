import type { AgentRequest, AgentResult, ModelAgent } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { FinishReason } from '../model/provider.ts'
import { countAnswered } from './count-call.ts'
import { askInOrder } from './model-ladder.ts'
import type { AgentParts } from './parts.ts'
import { emptyResult } from './result.ts'

type ModelAgentRequest = Extract<AgentRequest, { readonly agent: ModelAgent }>

/**
 * Asks a model once and streams its answer as `item.*` events (mode `classic` without tools); when it fails for good,
 * the models of `fallback_models` in order. An answer that is not whole is one, with a warning.
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
  const { chosen, answer, isNew } = await askInOrder(
    {
      names: [name ?? '', ...(agent.fallbackModels ?? [])],
      request,
      itemId: item.id,
      takesEmpty: agent.takesEmpty === true,
    },
    parts,
    context,
  )

  const { text, reasoning, usage, finish, costUsd, seconds } = answer
  if (text.trim() === '') emit(context, { type: 'warning', message: `${chosen.label} gave an empty answer` })
  const trouble = troubles[finish]
  if (trouble !== undefined) emit(context, { type: 'warning', message: `${chosen.label} ${trouble}` })
  if (finish === 'length') {
    emit(context, { type: 'warning', message: 'the answer was cut at its output limit', hint: cutHint(agent) })
  }
  emit(context, { type: 'item.completed', item: { ...item, text } })
  countAnswered({ chosen, usage, costUsd, isNew }, context)
  return {
    ...emptyResult,
    stopReason: finish === 'length' ? 'max_tokens' : 'done',
    ...(finish === 'incomplete' || finish === 'content_filter' ? { isPart: true } : {}),
    text,
    reasoning,
    model: { name: chosen.model, provider: chosen.provider.name },
    messages: [...messages, { role: 'assistant', content: text }],
    usage,
    costUsd,
    seconds,
  }
}

/** What a model that stopped for such a reason has to say is no whole answer. */
const troubles: { readonly [K in FinishReason]?: string } = {
  content_filter: 'was stopped by its content filter: the answer is not whole',
  refusal: 'refused to answer: its words are the refusal',
  incomplete: 'stopped in the middle: the answer is not whole',
  tool_calls: 'called a tool, and it has none: the answer may not be whole',
}

/** Agents of AIPack have no such setting: there the limit is the model's own. */
function cutHint({ name }: ModelAgent): string {
  return name === 'main' ? 'Raise max_tokens.' : 'Ask for less at once, or name a model that may answer at more length.'
}
