import type { IterationCondition } from '../../settings/strategies/iterate.ts'
import { conditionText, parseCondition } from '../../settings/strategies/iterate.ts'
import type { IterateSettings } from '../../settings/strategies/iterate.ts'
import type { Effects } from '../../event/effects.ts'
import { BatonError } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import type { ErrorInfo } from '../../event/event.ts'
import type { Usage } from '../../event/message.ts'

/** The record of one finished iteration. Plain JSON. */
export interface IterationRecord {
  /** From 0. */
  readonly iteration: number
  readonly success: boolean
  /** Why it failed. Runs of older versions do not have it. */
  readonly error?: string
  /** The changed files, relative to the workspace, sorted. */
  readonly changed_files: readonly string[]
  readonly summary: string
  /** The full id of its commit, if there is one. */
  readonly commit_id?: string
  /** The name of the state of the files after it: equal states have equal names. Omitted if unknown. */
  readonly state?: string
  /** The number that the command `score` printed. */
  readonly score?: number
  /** Whether the command `until` exited with 0. */
  readonly until_met?: boolean
  /** How `until` ended, or a `score` without a number; if not with 0, with the end of its output. */
  readonly check?: string
  /** When it ended, UTC. */
  readonly timestamp: string
  readonly elapsed_ms: number
  readonly tokens_used: number
  readonly usage: Usage
  /** US dollars; null if the price of a call is unknown. */
  readonly cost_usd: number | null
}

/** Why iterating ended. */
export type IterateStop =
  | 'completed'
  | 'duration_elapsed'
  | 'max_iterations'
  | 'until_met'
  | 'score_reached'
  | 'stalled'
  | 'oscillating'
  | 'failing'

/** The result of all iterations. */
export interface IterateResult {
  readonly iterations_attempted: number
  readonly iterations_succeeded: number
  readonly iterations_failed: number
  readonly stop_reason: IterateStop
  readonly elapsed_seconds: number
  readonly total_tokens: number
  readonly records: readonly IterationRecord[]
  /** Whether the command `until` exited with 0; omitted without one. */
  readonly until_met?: boolean
  /** The iteration with the best score, if there are scores; -1 is the state before the first one. */
  readonly best?: number
  /** Why the files are not those of the best iteration, although git could restore them; omitted if they are. */
  readonly not_restored?: ErrorInfo
}

/** The rules that end iterating. */
export interface EndRules {
  /** Undefined: until something else ends it. */
  readonly condition: IterationCondition | undefined
  readonly maxIterations: number
  readonly scoreGoal: number | undefined
  readonly scoreBest: 'highest' | 'lowest'
  /** The number of unchanged iterations in a row that ends it; 0: neither they, failed ones nor a repeated state ends it. */
  readonly stall: number
  /** So many first iterations do not count for it. Default: 0. */
  readonly stallAfter?: number
}

/** Default of `stall` if no count is given. */
const defaultStall = 3
/** Default of `max_iterations` if no count is given. */
const defaultIterations = 100

/** The settings of an iteration: in the replay of a run that was resumed with more, the first ones had others. */
export function settingsAt(
  iteration: number,
  settings: IterateSettings,
  { effects }: { readonly effects: Pick<Effects, 'isReplay'> },
): IterateSettings {
  const then = effects.isReplay === true ? settings.before?.find(({ done }) => iteration < done) : undefined
  if (then === undefined) return settings
  const { until: _, ...others } = settings
  return { ...others, condition: parseCondition(then.condition ?? ''), ...defined({ until: then.until }) }
}

export function endRules(settings: IterateSettings): EndRules {
  const { condition, score_goal: scoreGoal, score_best: scoreBest } = settings
  // an explicit count is exact
  const count = condition?.kind === 'count' ? condition.count : undefined
  const { stall = count === undefined ? defaultStall : 0, max_iterations: maxIterations = count ?? defaultIterations } =
    settings
  return {
    condition,
    maxIterations,
    scoreGoal,
    scoreBest,
    stall,
    ...defined({ stallAfter: settings.before?.at(-1)?.done }),
  }
}

/**
 * Why there is no further iteration; undefined: there is one. `startState` names the state of the files before the
 * first iteration. The time is checked only between iterations, so one may overrun.
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
  const counted = records.slice(rules.stallAfter ?? 0)
  if (stall === 0 || last === undefined || counted.length === 0) return undefined
  if (hasFailed(last)) return failedInRow(counted) >= mostFailures ? 'failing' : undefined
  // a failed iteration says nothing about what there is to change
  const others = counted.filter((record) => !hasFailed(record))
  if (others.length >= stall && others.slice(-stall).every(isUnchanged)) return 'stalled'
  return isOscillating(records, startState) ? 'oscillating' : undefined
}

/** The number of failed iterations in a row that ends it. */
const mostFailures = 5

const firstWaitMs = 1_000
const longestWaitMs = 60_000

/** How long to wait before the next iteration if the last ones failed, so that what they lacked may come back. */
export function waitAfter(records: readonly IterationRecord[]): number {
  const failed = failedInRow(records)
  return failed === 0 ? 0 : Math.min(firstWaitMs * 2 ** (failed - 1), longestWaitMs)
}

/** How many of the last iterations failed. */
export function failedInRow(records: readonly IterationRecord[]): number {
  return records.length - 1 - records.findLastIndex((record) => !hasFailed(record))
}

/** In a record of an older version, whose run ended as it did, a failed iteration is one without changes. */
function hasFailed({ success, error }: IterationRecord): boolean {
  return !success && error !== undefined
}

/** How many of the last iterations failed, and why: `the last iteration failed: …`. Undefined: the last one succeeded. */
function failureText(records: readonly IterationRecord[]): string | undefined {
  const count = failedInRow(records)
  if (count === 0) return undefined
  const which = count === 1 ? 'the last iteration' : `the last ${count} iterations`
  return `${which} failed: ${records.at(-1)?.error ?? 'the reason is unknown'}`
}

/** The error of a run whose last iterations failed; undefined: the last one succeeded, or what it waited for came. */
export function endedFailing({ records, stop_reason: stop }: IterateResult, run: string): BatonError | undefined {
  const text = failureText(records)
  if (text === undefined || stop === 'until_met' || stop === 'score_reached') return undefined
  return new BatonError('AGENT_FAILED', stop === 'failing' ? `stopped: ${text}` : text, {
    hint: `Once the cause is gone, continue with baton resume ${run} --from ${records.length - failedInRow(records)}.`,
  })
}

/** The flag that allows more iterations after an end. */
function moreOf(stop: IterateStop): string {
  if (stop === 'max_iterations') return '-c iterate.max_iterations=N'
  return stop === 'duration_elapsed' ? '--iter TIME (the time in all)' : '--iter N (the number in all)'
}

/** The error of a prompt whose `until` was never met. */
export function neverMet(
  { iterations_attempted: count, records, stop_reason: stop }: IterateResult,
  run: string,
): BatonError {
  const times = count === 1 ? 'one iteration' : `${count} iterations`
  const failure = failureText(records)
  const why = failure === undefined ? notRunnable(records.at(-1)) : `; ${failure}`
  return new BatonError('UNTIL_NOT_MET', `the command of "until" has not exited with 0 after ${times}${why}`, {
    hint: `See its output with baton runs show ${run} --place iteration/${count - 1}/until; allow more with baton resume ${run} ${moreOf(stop)}.`,
  })
}

/** A shell ends with 127 if it does not find a command, and with 126 if it may not run it. */
function notRunnable(last: IterationRecord | undefined): string {
  // the first exit code in the text is that of the check; what it printed may name others
  const [, code = '', output = ''] = /: exit code (\d+)\n([^]*)$/.exec(last?.check ?? '') ?? []
  return ['126', '127'].includes(code)
    ? `: it cannot be run (exit code ${code}): ${output.trim().split('\n').at(-1) ?? ''}`
    : ''
}

/** The error of a run whose files are not those of the best iteration, although git could restore them. */
export function notRestored({ not_restored: problem }: IterateResult): BatonError | undefined {
  return problem && new BatonError('CHANGES_FAILED', problem.message, defined({ hint: problem.hint }))
}

export function elapsedMs(records: readonly IterationRecord[]): number {
  return records.reduce((sum, { elapsed_ms: ms }) => sum + ms, 0)
}

/** The number of iterations; undefined if unknown. */
export function plannedCount({
  condition,
  maxIterations,
}: Pick<EndRules, 'condition' | 'maxIterations'>): number | undefined {
  return condition?.kind === 'count' ? Math.min(condition.count, maxIterations) : undefined
}

function isBetter(score: number, than: number, { scoreBest }: Pick<EndRules, 'scoreBest'>): boolean {
  return scoreBest === 'highest' ? score > than : score < than
}

/** The iteration with the best score, the later one of equals; -1 is the state before the first. */
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

/** Whether files were changed, but the state is an earlier one. */
function isOscillating(records: readonly IterationRecord[], startState: string | undefined): boolean {
  const last = records.at(-1)
  if (last?.state === undefined || isUnchanged(last)) return false
  const earlier = records.slice(0, -1).map(({ state }) => state)
  return [startState, ...earlier].includes(last.state)
}

/** What held for the iterations that are done, as the value of `before` in TOML. */
export function formerIterations(done: number, settings: IterateSettings | undefined): string {
  const { condition, until, before = [] } = settings ?? {}
  const text = condition?.kind === 'count' ? String(condition.count) : condition && conditionText(condition)
  const all = [...before.filter((one) => one.done < done), { done, ...defined({ condition: text, until }) }]
  const tables = all.map((one) =>
    Object.entries(one)
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .join(', '),
  )
  return `[${tables.map((table) => `{${table}}`).join(', ')}]`
}
