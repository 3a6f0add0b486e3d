import type { IterationCondition } from '../../config/iteration.ts'
import type { IterateSettings } from '../../config/settings.ts'
import { exitCodeOf } from '../../event/exit-code.ts'
import { isBudget } from '../ending.ts'
import type { IterateStop, IterationRecord } from './record.ts'

/** What decides when iterating ends. */
export interface EndRules {
  /** Undefined: until something else ends it. */
  readonly condition: IterationCondition | undefined
  readonly maxIterations: number
  readonly scoreGoal: number | undefined
  readonly scoreBest: 'highest' | 'lowest'
  /** So many iterations without a change in a row end it; 0: they do not, and neither does a state that was there before. */
  readonly stall: number
}

/** How often nothing may change in a row where only time or a command ends the work. */
const usualStall = 3
/** And how often it is done at most. */
const usualMost = 100

export function endRules(settings: IterateSettings): EndRules {
  const { condition, score_goal: scoreGoal, score_best: scoreBest } = settings
  // a count is a count (R44)
  const count = condition?.kind === 'count' ? condition.count : undefined
  const { stall = count === undefined ? usualStall : 0, max_iterations: maxIterations = count ?? usualMost } = settings
  return { condition, maxIterations, scoreGoal, scoreBest, stall }
}

/**
 * Why there is no further iteration; undefined: there is one. `startState` names the state of the files before the first.
 * Time is only looked at between iterations, so one may overrun (R45, TV5).
 */
export function endOf(
  records: readonly IterationRecord[],
  startState: string | undefined,
  rules: EndRules,
): IterateStop | undefined {
  const { condition, maxIterations, scoreGoal, stall } = rules
  const last = records.at(-1)
  if (last !== undefined) {
    if (last.until_met === true) return 'until_met'
    if (scoreGoal !== undefined && last.score !== undefined && !isBetter(scoreGoal, last.score, rules))
      return 'score_reached'
  }
  if (condition?.kind === 'count' && records.length >= condition.count) return 'completed'
  if (condition?.kind === 'duration' && elapsedMs(records) >= condition.seconds * 1000) return 'duration_elapsed'
  if (records.length >= maxIterations) return 'max_iterations'
  if (stall === 0) return undefined
  if (records.length >= stall && records.slice(-stall).every(isUnchanged)) return 'stalled'
  return isOscillating(records, startState) ? 'oscillating' : undefined
}

/** What fails one iteration and would fail each further one: a used up budget, and a key that is missing or refused. */
export function endsAll(error: unknown): boolean {
  return isBudget(error) || exitCodeOf(error) === 3
}

export function elapsedMs(records: readonly IterationRecord[]): number {
  return records.reduce((sum, { elapsed_ms: ms }) => sum + ms, 0)
}

/** How many iterations there will be; undefined where that is not known. */
export function plannedCount({
  condition,
  maxIterations,
}: Pick<EndRules, 'condition' | 'maxIterations'>): number | undefined {
  return condition?.kind === 'count' ? Math.min(condition.count, maxIterations) : undefined
}

function isBetter(score: number, than: number, { scoreBest }: Pick<EndRules, 'scoreBest'>): boolean {
  return scoreBest === 'highest' ? score > than : score < than
}

/** The iteration with the best score, the later one of equals; -1 stands for the state before the first. */
export function bestOf(
  records: readonly IterationRecord[],
  startScore: number | undefined,
  rules: Pick<EndRules, 'scoreBest'>,
): { readonly iteration: number; readonly score: number } | undefined {
  let best: { readonly iteration: number; readonly score: number } | undefined =
    startScore === undefined ? undefined : { iteration: -1, score: startScore }
  for (const { iteration, score } of records) {
    if (score === undefined) continue
    if (best === undefined || !isBetter(best.score, score, rules)) best = { iteration, score }
  }
  return best
}

function isUnchanged({ changed_files: files }: IterationRecord): boolean {
  return files.length === 0
}

/** Something was changed, and the files are as they were before. */
function isOscillating(records: readonly IterationRecord[], startState: string | undefined): boolean {
  const last = records.at(-1)
  if (last?.state === undefined || isUnchanged(last)) return false
  const earlier = records.slice(0, -1).map(({ state }) => state)
  return [startState, ...earlier].includes(last.state)
}
