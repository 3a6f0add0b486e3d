import type { JsonObject } from '../../base/json.ts'
import type { ModelRequest } from '../provider.ts'

/** Tokens of thinking for an effort (spec/aipack.md 4.4); minimal is the least all models but the largest take. */
const budgets: { readonly [effort: string]: number } = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 24_576,
  max: 24_576,
}

/** The range of Gemini 2.5 Pro, which always thinks. */
const proBudget = { least: 128, most: 32_768 }

/**
 * How much is thought, and whether it is shown (R284): by tokens up to Gemini 2.5, by name from Gemini 3 on. Models
 * that do not think get no such setting, and without an effort the model decides. Thoughts are shown with an effort or
 * when a summary is asked for.
 */
export function thinkingConfig(request: ModelRequest): JsonObject {
  const { model, reasoning_effort: effort, reasoning_summary: summary } = request
  const generation = generationOf(model)
  if (generation < 2.5 || (effort === undefined && (summary === undefined || summary === 'none'))) return {}
  const amount = effort === undefined ? {} : generation < 3 ? budget(effort, model) : level(effort, model)
  return { thinkingConfig: { ...amount, includeThoughts: summary !== 'none' && effort !== 'none' } }
}

/** The generation of a Gemini, 0 for a model of another family. A name without a number is the newest. */
export function generationOf(model: string): number {
  if (!/gemini/i.test(model)) return 0
  const found = /gemini-(\d{1,2}(?:\.\d{1,2})?)(?!\d)/i.exec(model)
  return found === null ? Infinity : Number(found[1])
}

function budget(effort: string, model: string): JsonObject {
  const tokens = budgets[effort]
  if (tokens === undefined) return {}
  if (!/pro/i.test(model)) return { thinkingBudget: tokens }
  const most = effort === 'xhigh' || effort === 'max' ? proBudget.most : tokens
  return { thinkingBudget: Math.max(proBudget.least, most) }
}

/** None of these can be kept from thinking. The lowest level all of them know is `low`; the small ones know `minimal`. */
function level(effort: string, model: string): JsonObject {
  switch (effort) {
    case 'none':
    case 'minimal':
      return { thinkingLevel: /flash-lite/i.test(model) ? 'minimal' : 'low' }
    case 'medium':
      return { thinkingLevel: /gemini-3-pro/i.test(model) ? 'high' : 'medium' }
    case 'xhigh':
    case 'max':
      return { thinkingLevel: 'high' }
    default:
      return { thinkingLevel: effort }
  }
}
