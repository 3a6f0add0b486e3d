import { durationText } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import { canonicalJson, defined, type Json } from '../../base/json.ts'
import { scoreIn } from '../../base/score.ts'
import type { WorkTime } from '../../base/work-time.ts'
import { conditionText } from '../../settings/strategies/iterate.ts'
import type { IterateSettings } from '../../settings/strategies/iterate.ts'
import { below, emit, type RunContext, type Sender } from '../../event/context.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { ErrorInfo } from '../../event/event.ts'
import { addSpent } from '../../event/meter.ts'
import { iteration as iterationSegment, part } from '../../event/place.ts'
import { frameOf, type IterationFacts, type PromptFrame } from './blocks.ts'
import { type CommandEnd, runCheck } from '../../run/check-command.ts'
import {
  bestOf,
  elapsedMs,
  endOf,
  endRules,
  failedInRow,
  type IterateResult,
  type IterateStop,
  type IterationRecord,
  plannedCount,
  settingsAt,
  waitAfter,
} from './records.ts'
import type { WorkDone } from '../../run/tasks.ts'
import type { Keeper } from './keeper.ts'
import type { Summary } from './summarize.ts'

/** The work of one iteration. */
export interface IterationWork<T> extends WorkDone {
  /** Plain JSON. */
  readonly outcome: T
  readonly success: boolean
  /** Why it failed. */
  readonly error?: string
  readonly answers: readonly string[]
}

interface IterateParts<T> {
  readonly settings: IterateSettings
  /** The original prompt, for events and summaries. */
  readonly prompt: string
  readonly assessment: string | undefined
  readonly plan: string | undefined
  /** Works on all tasks once. Throws only errors that end the run, and suspensions. */
  readonly work: (
    turn: { readonly facts: IterationFacts; readonly frame: PromptFrame },
    context: RunContext,
  ) => Promise<IterationWork<T>>
  /** Whether there is nothing left to work on, so that there is no further iteration. */
  readonly isOver: (outcome: T) => boolean
  readonly summarize: (
    work: IterationWork<T>,
    done: { readonly iteration: number; readonly success: boolean; readonly files: readonly string[] },
    context: RunContext,
  ) => Promise<Summary>
  readonly keeper: Keeper
}

interface Iterated<T> {
  /** Of the last iteration. */
  readonly outcome: T
  readonly result: IterateResult
}

/** One finished iteration, as it is recorded. */
interface Finished<T> {
  readonly record: IterationRecord
  readonly outcome: T
  /** The version that did it says so where the best state is not restored. */
  readonly tellsUnrestored?: boolean
}

/**
 * Works on a prompt repeatedly, each time with new agents, until its condition ends it. An iteration is
 * one boundary with its summary, checks and commit; a failed one does not stop the loop.
 */
export async function iterate<T>(parts: IterateParts<T>, context: RunContext): Promise<Iterated<T>> {
  const { settings, keeper } = parts
  const rules = endRules(settings)
  const frame = frameOf(parts)
  const start = await keeper.start(below(context, part('before')))
  emit(context, {
    type: 'iterate.started',
    condition: settings.condition === undefined ? 'until' : conditionText(settings.condition),
    initial_prompt: parts.prompt,
    max_iterations: plannedCount(rules) ?? rules.maxIterations,
  })
  const isDry = context.scope.dry !== undefined
  const startScore =
    settings.score === undefined || isDry
      ? undefined
      : (await measuredAt(settings.score, settings, below(context, part('before')))).score
  const records: IterationRecord[] = []
  let last: Finished<T> | undefined
  let stop: IterateStop | undefined
  for (;;) {
    stop = endOf(records, start.state, rules)
    if (stop !== undefined && last !== undefined) break
    const facts = {
      iteration: records.length,
      count: plannedCount(endRules(settingsAt(records.length, settings, context.services))),
      baseCommit: start.head,
      plan: parts.plan,
      records: [...records],
    }
    last = await oneIteration({ facts, frame }, parts, context)
    records.push(last.record)
    tell(last.record, records, context)
    // a dry run changes nothing, so further iterations would be the same
    if (isDry || parts.isOver(last.outcome)) {
      stop = 'completed'
      break
    }
  }
  const best = bestOf(records, startScore, rules)
  const found = best === undefined ? undefined : await restore(best, records, parts, below(context, part('best')))
  // the replay of a run of an older version ends as that one did
  const problem = context.services.effects.isReplay === true && last.tellsUnrestored !== true ? undefined : found
  const isWaited = settings.until !== undefined && !isDry
  const result = resultOf(
    records,
    stop,
    defined({
      best: best?.iteration,
      until_met: isWaited ? stop === 'until_met' : undefined,
      not_restored: problem,
    }),
  )
  emit(context, { type: 'iterate.completed', result: result as unknown as Json })
  return { outcome: last.outcome, result }
}

/** One boundary, which is repeated if the records differ. Returns why the best state was not restored. */
async function restore<T>(
  best: { readonly iteration: number; readonly score: number },
  records: readonly IterationRecord[],
  { keeper }: IterateParts<T>,
  context: RunContext,
): Promise<ErrorInfo | undefined> {
  const work = async (): Promise<ErrorInfo | undefined> => {
    const problem = await keeper.restore(best, records, context)
    return problem && errorInfo(problem)
  }
  return context.services.effects.boundary(context.scope.at, work, {
    label: 'the best state',
    inputs: { best, last: records.at(-1)?.state },
    isFinal: (problem) => problem === undefined,
    failureIn: (problem) => problem,
  })
}

async function oneIteration<T>(
  turn: { readonly facts: IterationFacts; readonly frame: PromptFrame },
  parts: IterateParts<T>,
  context: RunContext,
): Promise<Finished<T>> {
  const { facts } = turn
  const at = below(context, iterationSegment(facts.iteration))
  const previous = facts.records.at(-1)
  return context.services.effects.boundary<Finished<T>>(
    at.scope.at,
    async () => {
      const time = at.services.clock.startStopwatch()
      try {
        await pause(facts.records, at)
        emit(at, { type: 'iteration.started', iteration: facts.iteration, ...defined({ count: facts.count }) })
        return await finish(turn, { ...parts, time }, at)
      } finally {
        time.end()
      }
    },
    {
      label: `iteration ${facts.iteration}`,
      // repeated only if an earlier iteration was repeated
      inputs: { previous: previous === undefined ? null : sha256(canonicalJson(previous as unknown as Json)) },
    },
  )
}

/** After failed iterations, waits longer each time. */
async function pause(records: readonly IterationRecord[], at: RunContext): Promise<void> {
  const ms = waitAfter(records)
  if (ms === 0 || at.scope.dry !== undefined) return
  const count = failedInRow(records)
  const failed = count === 1 ? 'the last iteration' : `the last ${count} iterations`
  emit(at, { type: 'warning', message: `${failed} failed: waiting ${durationText(ms)} before the next one` })
  await at.services.clock.sleep(ms, at.services.signal)
}

async function finish<T>(
  turn: { readonly facts: IterationFacts; readonly frame: PromptFrame },
  { time, ...parts }: IterateParts<T> & { readonly time: WorkTime },
  at: RunContext,
): Promise<Finished<T>> {
  const { keeper } = parts
  const { iteration, records } = turn.facts
  const { services } = at
  const settings = settingsAt(iteration, parts.settings, services)
  await keeper.begin(records, at)
  const work = await parts.work(turn, at)
  if (at.scope.dry !== undefined) return { outcome: work.outcome, record: dryRecord(iteration, work) }
  const files = await keeper.changed(work.changed, at)
  const basics = { iteration, success: work.success, changed_files: files }
  const summary = await parts.summarize(work, { iteration, success: work.success, files }, below(at, part('summary')))
  const kept = await keeper.keep({ ...basics, subject: summary.subject }, at)
  const until = settings.until === undefined ? undefined : await untilAt(settings.until, settings, at)
  const measured = settings.score === undefined ? undefined : await measuredAt(settings.score, settings, at)
  const spent = addSpent(work.spent, summary.spent)
  const { usage, costUsd } = spent
  const clock = services.effects.observe([...at.scope.at, part('time')], { name: 'iterate.time', args: [] }, () => {
    const timestamp = services.now().toISOString()
    return { timestamp, elapsed: Math.round(time.elapsedMs()), hasErrors: true, tellsUnrestored: true }
  })
  const record: IterationRecord = {
    ...basics,
    // not in the replay of a run of an older version, which must end where that one did
    ...(clock.hasErrors ? defined({ error: errorOf(work) }) : {}),
    ...kept,
    summary: summary.text,
    ...defined({ score: measured?.score, check: measured?.check }),
    ...(until === undefined ? {} : { until_met: until.code === 0, check: checkText(settings.until ?? '', until) }),
    timestamp: clock.timestamp,
    elapsed_ms: clock.elapsed,
    tokens_used: usage.input + usage.output,
    usage,
    cost_usd: costUsd,
  }
  return { outcome: work.outcome, record, tellsUnrestored: clock.tellsUnrestored }
}

function dryRecord<T>(iteration: number, { success, spent }: IterationWork<T>): IterationRecord {
  const { usage, costUsd } = spent
  return {
    iteration,
    success,
    changed_files: [],
    summary: '',
    timestamp: '',
    elapsed_ms: 0,
    tokens_used: usage.input + usage.output,
    usage,
    cost_usd: costUsd,
  }
}

function errorOf<T>({ success, error = 'the reason is unknown' }: IterationWork<T>): string | undefined {
  return success ? undefined : error
}

function checkText(line: string, { code, output }: CommandEnd): string {
  const how = `${line}: ${code === undefined ? 'did not end by itself' : `exit code ${code}`}`
  return code === 0 || output === '' ? how : `${how}\n${output}`
}

function untilAt(
  line: string,
  { command_timeout_ms: timeLimitMs }: IterateSettings,
  at: RunContext,
): Promise<CommandEnd> {
  return runCheck('until', { line, timeLimitMs, key: 'until' }, at)
}

type Measured =
  | { readonly score: number; readonly check?: undefined }
  | { readonly score?: undefined; readonly check: string }

/** Without a score if the command failed or printed no number: that is a warning, and the next iteration is told. */
async function measuredAt(
  line: string,
  { command_timeout_ms: timeLimitMs }: IterateSettings,
  at: RunContext,
): Promise<Measured> {
  const end = await runCheck('score', { line, timeLimitMs, key: 'score' }, at)
  const score = scoreIn(end)
  if (score !== undefined) return { score }
  const why = end.code === 0 ? 'printed no number' : `ended with ${end.code ?? 'a signal or its time limit'}`
  emit(at, {
    type: 'warning',
    message: `there is no score: "${line}" ${why}`,
    hint: 'It must exit with 0 and print a number.',
  })
  return { check: checkText(line, end) }
}

function tell(record: IterationRecord, records: readonly IterationRecord[], context: Sender): void {
  const at = below(context, iterationSegment(record.iteration))
  const { iteration, success, error, summary, commit_id, tokens_used, changed_files, score, cost_usd } = record
  emit(at, {
    type: 'iteration.completed',
    iteration,
    success,
    summary,
    ...defined({ error, commit_id, score }),
    tokens_used,
    cost_usd,
    changed_files,
  })
  const succeeded = records.filter((one) => one.success).length
  emit(context, {
    type: 'iterate.progress',
    progress: {
      iteration: records.length,
      succeeded,
      failed: records.length - succeeded,
      elapsed_seconds: Math.round(elapsedMs(records) / 1000),
    },
  })
}

function resultOf(
  records: readonly IterationRecord[],
  stop: IterateStop,
  more: Pick<IterateResult, 'best' | 'until_met' | 'not_restored'>,
): IterateResult {
  const succeeded = records.filter(({ success }) => success).length
  return {
    iterations_attempted: records.length,
    iterations_succeeded: succeeded,
    iterations_failed: records.length - succeeded,
    stop_reason: stop,
    elapsed_seconds: Math.round(elapsedMs(records) / 1000),
    total_tokens: records.reduce((sum, { tokens_used: tokens }) => sum + tokens, 0),
    records,
    ...more,
  }
}
