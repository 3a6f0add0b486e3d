import { textMessage } from '../../event/message.ts'
import { item, part } from '../../event/place.ts'
import { estimateTokens } from '../../model/estimate.ts'
import type { OutlinedSummary, RepetitionOutlines, SummaryCall, Times } from '../../run/strategy.ts'
import { frameOf, iterationPrompt } from './blocks.ts'
import { type Iteration, iterationOf } from './load.ts'
import { endRules, plannedCount } from './records.ts'
import { askForSummary } from './summarize.ts'

/**
 * Maximum number of characters about one earlier iteration, and about the last check; `asked`: tokens of a summary
 * request in addition to answers of any length.
 */
const textLimits = { byFiles: 600, byModel: 2_600, check: 4_200, asked: 4_000 } as const

/** What is known of `[iterate]` before a run. */
export const iterationOutlines: RepetitionOutlines = {
  timesOf: ({ iterate }) => iterate && iterationsOf({ settings: iterate }),
  ofPrompt(target) {
    const iteration = iterationOf(target)
    return {
      times: iterationsOf(iteration),
      promptOf: firstPrompt(iteration),
      laterTokens: (instruction) => laterTokens(iteration, instruction),
      summary: (call) => summaryOf(iteration, call),
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
function laterTokens({ settings, plan = '' }: Iteration, instruction: string): number {
  if (!settings.context) return tokensOf(settings.continuation ?? '') + 100
  const { at_most: most } = iterationsOf({ settings })
  const each = settings.summarizer === 'files' ? textLimits.byFiles : textLimits.byModel
  const characters = (most - 1) * each + (settings.until === undefined ? 0 : textLimits.check) + 200
  return tokensOf(instruction) + tokensOf(plan) + tokensOf('x'.repeat(characters))
}

/** A summary by the model or an agent; undefined if it is made from the names of files. */
function summaryOf(
  { settings: { summarizer: kind }, summarizer }: Iteration,
  { settings, instruction, answers }: SummaryCall,
): OutlinedSummary | undefined {
  if (kind === 'files') return undefined
  const done = { iteration: 0, success: true, files: [], task: instruction, answers: [] }
  return {
    at: [item('iteration'), item('*'), part('summary')],
    ask: (context) => askForSummary(done, { summarizer, settings }, context),
    // a model is given only the beginning of the answers
    moreTokens: textLimits.asked + (summarizer === undefined ? 0 : answers),
    decides: [],
    isBare: true,
  }
}

function tokensOf(text: string): number {
  return text === '' ? 0 : estimateTokens([textMessage('user', text)])
}
