import { dirname, join } from 'node:path'
import { type Bus, createBus, type Listener } from '../event/bus.ts'
import type { MeteredCall, RunTotal } from '../event/context.ts'
import type { Cost } from '../event/effects.ts'
import { createMeter, type Meter } from '../event/meter.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { Repeated } from '../journal/resumed-effects.ts'
import { finishHistory } from '../journal/index-file.ts'
import { pruneRuns } from '../journal/prune.ts'
import { type BudgetLimits, createBudget, type RunBudget } from '../journal/run-budget.ts'
import { createPathTokens } from '../journal/portable.ts'
import { createTally, type Tally } from '../journal/tally.ts'
import { createMask, type LiveMask } from '../journal/secrets.ts'
import { packageRoot } from '../package-root.ts'
import { type Ending, endingEvent, exitCodeFor, failedEnding } from '../run/ending.ts'
import { execute } from '../run/execute.ts'
import type { Invocation } from '../run/invocation.ts'
import { recordEnd } from '../run/record.ts'
import type { Reuse } from '../run/reuse.ts'
import type { SourceLog } from '../run/source-log.ts'
import { resultHash } from '../run/result-hash.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import type { Target } from '../run/target.ts'
import type { TaskOutcome } from '../run/task.ts'
import { inputsOf, loadRun, sendStart } from './load-run.ts'
import { maskFor, wireRun } from './run-context.ts'
import type { OlderEpochs } from './past.ts'
import type { Replay } from './run-effects.ts'
import { runFolders } from './run-folders.ts'

/** What the process gives every run, whether it begins or goes on. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly signal?: AbortSignal
  /** Keeps what the run reads and changes, for who watches it. */
  readonly log?: SourceLog
  /** Makes the budget of the run from its limits; left out: what was spent before does not count. */
  readonly openBudget?: (limits: BudgetLimits) => RunBudget
  /** Reads back what an earlier run of a watch session has finished. */
  readonly reuse?: Reuse
}

/** `usage`, `costUsd` and `unpriced` are over all model calls of the run. */
export interface RunReport extends Ending, RunTotal {
  readonly runId: string
  /** DESIGN 12. */
  readonly exitCode: number
  /** Effects that were in flight when the run broke off and were done again. */
  readonly repeated: readonly Repeated[]
  /** Whether something was done, so that a run that failed is worth going on with. */
  readonly canResume: boolean
  /** Hides the secrets of this run's environment in a text. */
  readonly mask: (text: string) => string
}

/** One run to be conducted: what is run, and where it is recorded. */
export interface RunPlan {
  readonly id: string
  readonly invocation: Invocation
  /** Keeps what the run is made of, and gives one that goes on what it began with. */
  readonly sources: SourceRecorder
  /** `-c` values of the process that goes on; they win. */
  readonly overrides?: readonly string[]
  /** Opens the record of the run. */
  readonly open: (target: Target, parts: OpenParts) => Promise<OpenedRun>
  /** True when the run goes on. */
  readonly isResumed: boolean
  /** Changes what was loaded before it is run. */
  readonly prepare?: (target: Target) => Target
}

export interface OpenParts {
  readonly mask: LiveMask
  readonly bus: Bus
}

export interface OpenedRun {
  readonly journal: RunJournal
  /** Where it is; left out: nobody reads it later. */
  readonly folder?: string
  /** What the older epochs of the run have recorded. */
  readonly past?: RunPast
  /** What stands in for everything outside. */
  readonly replay?: RunReplay
}

/** A run whose effects are answered by a record. */
interface RunReplay extends Replay {
  /** Told how the run ended: an error it threw, undefined for an ending. Throws what the run fails for. */
  readonly settle: (error?: unknown) => void
}

interface RunPast extends OlderEpochs {
  /** The model calls that were paid for, for the total of the run. */
  readonly calls: readonly MeteredCall[]
  /** What counts as spent already. */
  readonly spent: Required<Cost>
}

interface Run {
  readonly plan: RunPlan
  readonly surroundings: Surroundings
  readonly bus: Bus
  readonly mask: LiveMask
  readonly meter: Meter
  readonly builtInDir: string
  readonly finished: TaskOutcome[]
  readonly repeated: Repeated[]
  readonly onEffect: () => void
  readonly onOpen: (run: KeptRun) => void
  /** Told of the calls that older epochs have paid for. */
  readonly onCallBefore: (call: MeteredCall) => void
}

/**
 * Conducts a run to its end: loads and checks everything, opens the record, runs, and closes. `listener` gets every
 * event synchronously; the last one is `run.completed` or `run.failed`. Never rejects for what goes wrong with the run:
 * the report says it.
 */
export async function conduct(plan: RunPlan, surroundings: Surroundings, listener: Listener): Promise<RunReport> {
  const { id } = plan
  let mask = createMask(surroundings.env)
  const bus = createBus({
    runId: id,
    now: () => new Date(),
    hide: (text) => mask.hide(text),
    begun: (text) => mask.begun(text),
  })
  bus.subscribe(listener)
  const tally = createTally()
  bus.subscribe(tally.add)
  const builtInDir = join(packageRoot(), 'agents')
  const meter = createMeter()
  const finished: TaskOutcome[] = []
  const repeated: Repeated[] = []
  let hasActed = plan.isResumed
  const onEffect = (): void => void (hasActed = true)
  let kept: KeptRun | undefined
  let ending: Ending
  try {
    const target = await loadRun(plan, surroundings, builtInDir)
    mask = maskFor(target, surroundings.env)
    sendStart(plan, target, bus)
    ending = await runRecorded(target, {
      plan,
      surroundings,
      bus,
      mask,
      meter,
      builtInDir,
      finished,
      repeated,
      onEffect,
      onOpen: (run) => (kept = run),
      onCallBefore: (call) => tally.addModel(call.model),
    })
  } catch (error) {
    if (!bus.hasSent()) sendStart(plan, undefined, bus)
    ending = failedEnding(error, surroundings.signal, finished)
  }
  const total = meter.total()
  bus.send([], endingEvent(ending, { ...total, repeated }))
  if (kept !== undefined) await keepHistory(kept, tally.result())
  const exitCode = exitCodeFor(ending)
  return { ...ending, ...total, runId: id, exitCode, repeated, canResume: hasActed, mask: mask.hide }
}

/** Where a run is kept on the disk, and for how long, in milliseconds. */
interface KeptRun {
  readonly folder: string
  readonly keepMs: number | undefined
}

async function keepHistory({ folder, keepMs }: KeptRun, result: ReturnType<Tally['result']>): Promise<void> {
  if (result === undefined) return
  await finishHistory(folder, result)
  if (keepMs !== undefined) await pruneRuns(dirname(folder), { keepMs, now: new Date() })
}

async function runRecorded(target: Target, run: Run): Promise<Ending> {
  const { plan, surroundings, bus, mask, meter, builtInDir, finished, repeated, onEffect, onOpen, onCallBefore } = run
  const { signal, env, home, log, openBudget = createBudget, reuse } = surroundings
  const { cwd, dry, patienceMs } = plan.invocation
  const { budget, retry } = target.settings
  const { journal, folder, past, replay } = await plan.open(target, { mask, bus })
  if (folder !== undefined) onOpen({ folder, keepMs: target.settings.runs.keep_ms })
  try {
    for (const call of past?.calls ?? []) {
      meter.add(call)
      onCallBefore(call)
    }
    const {
      context: contextOf,
      checkModels,
      limitBudget,
    } = wireRun(target, {
      id: plan.id,
      bus,
      journal,
      meter,
      budget: past === undefined ? openBudget(budget) : createBudget(budget, undefined, past.spent),
      builtInDir,
      cwd,
      home,
      env,
      dry,
      signal,
      log,
      sources: plan.sources,
      onEffect,
      patienceMs: retry.patience_ms ?? patienceMs,
      replay,
      past: past && (await import('./past.ts')).pastOf(past, { journal, workspace: target.workspace }),
      onRepeat: (one) => repeated.push(one),
    })
    if (replay === undefined) await checkModels()
    const context = await contextOf()
    const ending = await execute(target, inputsOf(plan.invocation), {
      context: reuse?.around(context, { journal, folder }) ?? context,
      finished,
      hide: (text) => mask.hide(text),
      limitBudget,
    })
    replay?.settle()
    const { toTokens } = createPathTokens(runFolders({ workspace: target.workspace, home }))
    recordEnd(journal, ending, { result: resultHash(ending, toTokens) })
    return ending
  } catch (error) {
    // a run that its journal stopped failed for that reason, whatever noticed it first
    const reason: unknown = journal.failure.aborted ? journal.failure.reason : error
    recordEnd(journal, failedEnding(reason, signal))
    replay?.settle(reason)
    throw reason
  } finally {
    await journal.close()
  }
}
