import { callPromptInput } from '../../agent/prompt-input.ts'
import { defined } from '../../base/json.ts'
import { below } from '../../event/context.ts'
import { textMessage } from '../../event/message.ts'
import { item, part, placeText } from '../../event/place.ts'
import { estimateTokens } from '../../model/estimate.ts'
import { frameOf, iterationPrompt } from './blocks.ts'
import { endRules, plannedCount } from './records.ts'
import { type Iteration, iterationOf } from './load.ts'
import { summaryQuestion } from './summarize.ts'
import { type Drift, grown, planAsk, type Times } from '../../plan/ask.ts'
import type { SummaryPlan } from '../../plan/plan.ts'
import {
  planChild,
  type Planner,
  type RepetitionPlanner,
  type SummaryCall,
  type PlanContext,
} from '../../plan/planner.ts'
import { planLeaf } from '../../plan/script.ts'

/**
 * Maximum number of characters about one earlier iteration, and about the last check; `asked`: tokens of a summary
 * request in addition to answers of any length.
 */
const told = { byFiles: 600, byModel: 2_600, check: 4_200, asked: 4_000 } as const

/** What a plan needs to know of `[iterate]`. */
export const iterationPlanner: RepetitionPlanner = {
  timesOf: ({ iterate }) => iterate && iterationsOf({ settings: iterate }),
  ofPrompt(target) {
    const iteration = iterationOf(target)
    return {
      times: iterationsOf(iteration),
      promptOf: firstPrompt(iteration),
      later: (drift, instruction) => laterDrift(drift, iteration, instruction),
      planSummary: (call, planner, context) => planSummary(iteration, call, planner, context),
    }
  },
}

function iterationsOf({ settings }: Pick<Iteration, 'settings'>): Times {
  const rules = endRules(settings)
  const count = plannedCount(rules)
  const most = count ?? rules.maxIterations
  const mayEnd = settings.until !== undefined || settings.score_goal !== undefined || rules.stall > 0
  return { at_least: count === undefined || mayEnd ? 1 : count, as_written: most, at_most: most }
}

/** Makes the prompt of the first iteration from the instruction. */
function firstPrompt(iteration: Iteration): (instruction: string) => string {
  const facts = { iteration: 0, count: undefined, baseCommit: undefined, plan: undefined, records: [] }
  return (instruction) => iterationPrompt(instruction, facts, frameOf(iteration))
}

/** The prompt of a later iteration also contains information about the earlier ones. */
function laterDrift(drift: Drift, { settings, plan = '' }: Iteration, instruction: string): Drift {
  if (!settings.context) return grown(drift, tokensOf(settings.continuation ?? '') + 100)
  const { at_most: most } = iterationsOf({ settings })
  const each = settings.summarizer === 'files' ? told.byFiles : told.byModel
  const characters = (most - 1) * each + (settings.until === undefined ? 0 : told.check) + 200
  return grown(drift, tokensOf(instruction) + tokensOf(plan) + tokensOf('x'.repeat(characters)))
}

/** The asks of one summary, by the model or an agent; undefined if it is made from the names of files. */
async function planSummary(
  { settings: { summarizer: kind }, summarizer }: Iteration,
  { settings, instruction, drift, answers }: SummaryCall,
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
