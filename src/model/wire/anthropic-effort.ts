import type { JsonObject } from '../../base/json.ts'
import type { Message } from '../../event/message.ts'
import type { ModelRequest } from '../provider.ts'
import { familyOf, type AnthropicFamily } from './anthropic-family.ts'

/** What this API wants as an output limit when none is given: with thinking, without, and for the highest efforts. */
const defaultLimits = { plain: 16_384, thinking: 32_000, deep: 64_000 }

/** Tokens of thinking for an effort (spec/aipack.md 4.4). */
const budgets: { readonly [effort: string]: number } = {
  minimal: 1024,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 24_000,
  max: 24_000,
}

/** The smallest budget that is taken, and what stays at least for the answer itself. */
const leastBudget = 1024
const leastAnswer = 1024

/**
 * The output limit, thinking and sampling of a request (R281, R284). The limit holds thinking and answer; without one
 * it is 16,384 tokens, 32,000 where the model thinks and 64,000 for the efforts xhigh and max, never above what the
 * model can do. Temperature and top_p are left out with thinking and for models that refuse them; of the two only the
 * temperature is sent, because newer models refuse both together.
 */
export function effortSettings(request: ModelRequest): JsonObject {
  const { model, temperature, top_p, max_tokens } = request
  const family = familyOf(model)
  const limit = max_tokens ?? Math.min(defaultLimit(request, family), family.mostTokens)
  const thinking = thinkingOf(request, { family, limit })
  const samples = family.takesSampling && thinking['thinking'] === undefined
  return {
    max_tokens: limit,
    ...thinking,
    ...(samples && temperature !== undefined ? { temperature } : {}),
    ...(samples && temperature === undefined && top_p !== undefined ? { top_p } : {}),
  }
}

function defaultLimit({ reasoning_effort: effort }: ModelRequest, family: AnthropicFamily): number {
  if (family.thinking === 'none') return defaultLimits.plain
  if (family.thinking === 'adaptive' && (effort === 'xhigh' || effort === 'max')) return defaultLimits.deep
  const thinks = effort === undefined || effort === 'none' ? family.thinksUnasked : true
  return thinks ? defaultLimits.thinking : defaultLimits.plain
}

function thinkingOf(
  request: ModelRequest,
  { family, limit }: { readonly family: AnthropicFamily; readonly limit: number },
): JsonObject {
  const { reasoning_effort: effort, reasoning_summary: summary, messages } = request
  if (effort === undefined || family.thinking === 'none') return {}
  if (family.thinking === 'budget') return isAmongTools(messages) ? {} : budget(effort, limit)
  if (effort === 'none') {
    // some of these models cannot be kept from thinking; the lowest effort is what all of them take
    return family.thinksUnasked ? { output_config: { effort: 'low' } } : {}
  }
  return {
    thinking: { type: 'adaptive', display: summary === 'none' ? 'omitted' : 'summarized' },
    output_config: { effort: knownEffort(effort, family) },
  }
}

function budget(effort: string, limit: number): JsonObject {
  const tokens = Math.min(budgets[effort] ?? 0, limit - leastAnswer)
  return tokens < leastBudget ? {} : { thinking: { type: 'enabled', budget_tokens: tokens } }
}

function knownEffort(effort: string, { knowsXhigh }: AnthropicFamily): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !knowsXhigh ? 'high' : effort
}

/**
 * Whether the model's last words were tool calls. With a budget the API then wants its signed thinking back, which a
 * conversation of ours does not hold, so the rest of such a turn goes without thinking.
 */
function isAmongTools(messages: readonly Message[]): boolean {
  return (messages.findLast(({ role }) => role === 'assistant')?.tool_calls ?? []).length > 0
}
