import type { JsonObject } from '../../base/json.ts'
import { toolCallsOf, type Message } from '../../event/message.ts'
import type { ModelRequest } from '../provider.ts'
import { providerData } from './request-parts.ts'

/**
 * The output limit this API requires, if none is given: without thinking, with thinking, and for the highest efforts.
 */
const defaultLimits = { plain: 16_384, thinking: 32_000, deep: 64_000 }

const budgets: { readonly [effort: string]: number } = {
  minimal: 1024,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 24_000,
  max: 24_000,
}

/** The smallest budget the API accepts, and the least that is left for the answer itself. */
const leastBudget = 1024
const leastAnswer = 1024

/**
 * The output limit, thinking and sampling of a request (R281, R284). The limit includes thinking and answer; the
 * default is 16,384 tokens, 32,000 with thinking and 64,000 for the efforts xhigh and max, but never more than the
 * model supports. Temperature and top_p are omitted with thinking and for models that refuse them; if both are set,
 * only the temperature is sent, because newer models refuse the combination.
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

function defaultLimit({ reasoning_effort: effort }: ModelRequest, family: Family): number {
  if (family.thinking === 'none') return defaultLimits.plain
  if (family.thinking === 'adaptive' && (effort === 'xhigh' || effort === 'max')) return defaultLimits.deep
  const thinks = effort === undefined || effort === 'none' ? family.thinksUnasked : true
  return thinks ? defaultLimits.thinking : defaultLimits.plain
}

function thinkingOf(
  request: ModelRequest,
  { family, limit }: { readonly family: Family; readonly limit: number },
): JsonObject {
  const { reasoning_effort: effort, reasoning_summary: summary, messages } = request
  if (effort === undefined || family.thinking === 'none') return {}
  if (family.thinking === 'budget') return lacksThought(messages) ? {} : budget(effort, limit)
  if (effort === 'none') {
    // thinking cannot be turned off for some of these models; all of them accept the lowest effort
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

function knownEffort(effort: string, { knowsXhigh }: Family): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !knowsXhigh ? 'high' : effort
}

/** Whether the model accepts its own thoughts in later requests. */
export function takesThinking(model: string): boolean {
  return familyOf(model).thinking !== 'none'
}

/**
 * Whether the model is in a tool-calling turn that did not start with a signed thought: the API refuses a thinking
 * budget there, so the rest of such a turn runs without thinking.
 */
function lacksThought(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const answer = messages[last]
  if (answer === undefined || toolCallsOf(answer).length === 0) return false
  const before = messages.findLastIndex(({ role }, index) => index < last && role !== 'assistant' && role !== 'tool')
  const first = messages.slice(before + 1).find(({ role }) => role === 'assistant')?.parts[0]
  return first?.type !== 'reasoning' || providerData(first, 'anthropic') === undefined
}

interface Family {
  /** How an effort is requested: not at all, as a number of tokens, or by name. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** It thinks by default. */
  readonly thinksUnasked: boolean
  /** It supports the effort `xhigh`. */
  readonly knowsXhigh: boolean
  /** It accepts `temperature` and `top_p`. */
  readonly takesSampling: boolean
  /** The largest output limit in tokens. */
  readonly mostTokens: number
}

/**
 * The family of a model by its name. A Claude name without a version counts as the newest; any other name is a model of
 * another vendor behind the same API, which supports thinking budgets.
 */
function familyOf(model: string): Family {
  if (!/claude/i.test(model)) return { ...ruledBy(400), mostTokens: 64_000 }
  const version = versionOf(model)
  return { ...ruledBy(version), mostTokens: mostTokens(model, version) }
}

function ruledBy(version: number): Omit<Family, 'mostTokens'> {
  return {
    thinking: version < 307 ? 'none' : version < 406 ? 'budget' : 'adaptive',
    thinksUnasked: version >= 500,
    knowsXhigh: version >= 407,
    takesSampling: version < 407,
  }
}

function mostTokens(model: string, version: number): number {
  if (version < 305) return 4096
  if (version < 307) return 8192
  if (version < 405 && /opus/i.test(model)) return 32_000
  return version < 406 ? 64_000 : 128_000
}

/** 4.5 is 405. Dates and other long numbers are not versions. */
function versionOf(model: string): number {
  const found = /(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return found === null ? Infinity : Number(found[1]) * 100 + Number(found[2] ?? 0)
}
