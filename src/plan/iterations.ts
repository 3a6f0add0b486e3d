import { callPromptInput } from '../agent/prompt-input.ts'
import { defined } from '../base/json.ts'
import { below } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import { item, part, placeText } from '../event/place.ts'
import { estimateTokens } from '../model/estimate.ts'
import { frameOf, iterationPrompt } from '../strategies/iterate/blocks.ts'
import { endRules, plannedCount } from '../strategies/iterate/records.ts'
import type { Iteration } from '../strategies/iterate/load.ts'
import { summaryQuestion } from '../strategies/iterate/summarize.ts'
import type { Settings } from '../config/settings.ts'
import { type Ask, type Drift, grown, planAsk, type Range } from './ask.ts'
import type { SummaryPlan } from './plan.ts'
import { planChild, type PlanContext, type Planner } from './planner.ts'
import { planLeaf } from './script.ts'

/** How many times the tasks of a prompt file are processed. */
export type Iterations = Range & { readonly at_most: number }

/**
 * Maximum number of characters about one earlier iteration, and about the last check; `asked`: tokens of a summary
 * request in addition to answers of any length.
 */
const told = { byFiles: 600, byModel: 2_600, check: 4_200, asked: 4_000 } as const

export function iterationsOf({ settings }: Pick<Iteration, 'settings'>): Iterations {
  const rules = endRules(settings)
  const count = plannedCount(rules)
  const most = count ?? rules.maxIterations
  const mayEnd = settings.until !== undefined || settings.score_goal !== undefined || rules.stall > 0
  return { at_least: count === undefined || mayEnd ? 1 : count, as_written: most, at_most: most }
}

/** Makes the prompt of the first iteration from the instruction. */
export function firstPrompt(iteration: Iteration): (instruction: string) => string {
  const facts = { iteration: 0, count: undefined, baseCommit: undefined, plan: undefined, records: [] }
  return (instruction) => iterationPrompt(instruction, facts, frameOf(iteration))
}

/** The prompt of a later iteration also contains information about the earlier ones. */
export function laterDrift(drift: Drift, { settings, plan = '' }: Iteration, instruction: string): Drift {
  if (!settings.context) return grown(drift, tokensOf(settings.continuation ?? '') + 100)
  const { at_most: most } = iterationsOf({ settings })
  const each = settings.summarizer === 'files' ? told.byFiles : told.byModel
  const characters = (most - 1) * each + (settings.until === undefined ? 0 : told.check) + 200
  return grown(drift, tokensOf(instruction) + tokensOf(plan) + tokensOf('x'.repeat(characters)))
}

interface SummariesCall {
  readonly settings: Settings
  readonly instruction: string
  readonly drift: Drift
  /** Maximum length of the answers of one iteration, in tokens. */
  readonly answers: number
}

/** The asks of one summary, by the model or an agent; undefined if it is made from the names of files. */
export async function planSummary(
  { settings: { summarizer: kind }, summarizer }: Iteration,
  { settings, instruction, drift, answers }: SummariesCall,
  planner: Planner,
  context: PlanContext,
): Promise<SummaryPlan | undefined> {
  if (kind === 'files') return undefined
  const inner = below(context, item('iteration'), item('*'), part('summary'))
  const at = placeText(inner.scope.at)
  const done = { iteration: 0, success: true, files: [], task: instruction, answers: [] }
  if (summarizer === undefined) {
    const { model, fallback_models: fallbackModels } = settings
    const request = {
      kind: 'model',
      agent: { kind: 'llm', name: 'summarizer', settings: defined({ model }), fallbackModels },
      messages: [textMessage('user', summaryQuestion(done, done))],
    } as const
    const options = { drift: grown(drift, told.asked), tries: planner.tries, followUps: () => [] }
    return { at, agent: null, decides: [], asks: await planAsk(request, options, planner.models) }
  }
  const more = grown(drift, told.asked + answers)
  if (summarizer.kind === 'prompt') {
    const child = { agent: summarizer, given: callPromptInput(done), options: {}, drift: more }
    const { plan } = await planChild(child, planner, inner)
    return { at, agent: plan, decides: [], asks: plan.asks }
  }
  const options = { inherited: context.scope.options, given: {} }
  const plan = await planLeaf({ agent: summarizer, inputs: [done], options, drift: more, at }, planner, inner)
  return { at, agent: plan, decides: plan.decides, asks: plan.asks }
}

function tokensOf(text: string): number {
  return text === '' ? 0 : estimateTokens([textMessage('user', text)])
}

/** Asks of one iteration, made in each. */
export function eachTime(asks: readonly Ask[], times: Iterations): readonly Ask[] {
  return asks.map((ask) => ({
    ...ask,
    requests: repeated(ask.requests, times),
    input_tokens: repeated(ask.input_tokens, times),
    output_tokens: repeated(ask.output_tokens, times),
    usd: ask.usd === null ? null : repeated(ask.usd, times),
  }))
}

function repeated({ at_least, as_written, at_most }: Range, times: Iterations): Range {
  return {
    at_least: at_least * times.at_least,
    as_written: as_written * times.as_written,
    at_most: at_most === null ? null : at_most * times.at_most,
  }
}
