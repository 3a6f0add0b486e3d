import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { durationText, startLimit } from '../base/clock.ts'
import { startStopwatch, systemTime } from '../base/work-time.ts'
import { BatonError, messageOf } from '../base/error.ts'
import type { Pool } from '../base/concurrency.ts'
import { defined } from '../base/json.ts'
import { bothReads } from '../base/reads.ts'
import { type Bus, createBus, type Listener, withoutPieces } from '../event/bus.ts'
import type { AskPerson } from '../event/mcp.ts'
import { createMeter, type Meter, type RunTotal } from '../event/meter.ts'
import type { ApprovalView } from '../event/action-view.ts'
import type { BudgetLimits } from '../event/effects.ts'
import type { Approver } from '../event/permission.ts'
import { createBudget, type RunBudget } from '../journal/budget.ts'
import { parsePlace, placeText } from '../event/place.ts'
import type { EffectHook } from '../journal/effects.ts'
import { costBelow } from '../journal/paid-calls.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { Repeated } from '../journal/resumed-effects.ts'
import { finishHistory } from '../journal/index-file.ts'
import { pruneRuns } from '../journal/prune.ts'
import { createPathTokens } from '../journal/portable.ts'
import type { PeriodBudget, PeriodLimits } from '../journal/period-budget.ts'
import { publishTexts } from '../journal/text-relay.ts'
import { runsFolder, stateFolder, triggersFolder, triggersOwner } from '../journal/run-id.ts'
import { removeEndedWorktrees, removeRunWorktrees } from '../journal/worktrees.ts'
import { createTally, type Tally } from '../journal/tally.ts'
import { createMask, type LiveMask } from '../journal/secrets.ts'
import type { CoolDown } from '../model/cool-down.ts'
import { packageRoot } from '../package-root.ts'
import {
  createDenials,
  createSkippedChanges,
  type Ending,
  endingEvent,
  exitCodeFor,
  failedEnding,
  type SkippedChanges,
  type Waiting,
} from '../run/ending.ts'
import { execute, type Execution } from '../run/execute.ts'
import { type Invocation, recordEnd, resultHash } from '../run/record.ts'
import { createMissingTools, type IsRecordedTool } from '../run/recorded-tools.ts'
import type { Reuse } from '../run/reuse.ts'
import type { SourceLog } from '../run/source-log.ts'
import type { SourceRecorder } from '../run/stored-sources.ts'
import type { Target } from '../load/target.ts'
import { inputsOf, loadRun, runFolders, sendStart } from './load-run.ts'
import { createProgramSecrets, type ProgramSecrets } from './program-secrets.ts'
import { maskFor, wireRun } from './run-context.ts'
import type { EffectParts, Replay } from './run-effects.ts'
import type { Notifier } from './notify.ts'
import { openRunServers, replayedServers, type RunServers, serversOfPacks } from './run-servers.ts'
import type { OlderEpochs } from './older-epochs.ts'
import type { SessionResources } from './session-resources.ts'
import type { TaskOutcome } from '../run/strategy.ts'
import { strategies } from '../strategies/strategies.ts'

/** What the process provides to every run, new or resumed. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly signal?: AbortSignal
  /** Someone is watching, so an answer without a model is no surprise. Default: false. */
  readonly isAttended?: boolean
  /** The longest time to wait for a host that cannot be reached or fails; default: 30 s if attended, else the patience. */
  readonly mostOutageMs?: number
  /** Where packs keep files for all workspaces, absolute; default: AIPack's folder in the home folder. */
  readonly aipackBase?: string
  /** Tracks what the run reads and changes, for a watch session. */
  readonly log?: SourceLog
  /** Creates the budget of the run from its limits; omitted: a new budget, without what earlier runs spent. */
  readonly openBudget?: (limits: BudgetLimits) => RunBudget
  /** Reuses results of an earlier run in a watch session. */
  readonly reuse?: Reuse
  /**
   * Answers approval requests for the user; `allow` and `deny` apply to all of them. If omitted, calls that need
   * approval are refused, and questions left open by an earlier process stay open.
   */
  readonly approver?: Approver | 'allow' | 'deny'
  /** Answers instead of a person at a terminal if the settings say that nobody watches (`[run] unattended`). */
  readonly unattendedApprover?: Approver | 'allow' | 'deny'
  /** Asks the user what an MCP server wants to know during a call; if omitted, the request is declined. */
  readonly askPerson?: AskPerson
  readonly hooks?: readonly EffectHook[]
  /** The session of the chat that the run is a message of: its servers and its shell. Omitted: the run has its own. */
  readonly session?: SessionResources
  /** What runs of several processes share for calls of models; default: a run shares its slots with this process. */
  readonly calling?: Calling
}

/** The slots of model requests, and the models that failed recently. */
export interface Calling {
  readonly slots: Pool
  readonly coolDown: CoolDown
}

/** Totals (`usage`, `costUsd`, `unpriced`) cover all model calls of the run. */
export interface RunReport extends Ending, RunTotal {
  readonly runId: string
  /** The run folder; undefined if the run is not recorded, or not on disk. */
  readonly folder: string | undefined
  readonly exitCode: number
  /** Effects that were in flight when the run was interrupted, and were repeated. */
  readonly repeated: readonly Repeated[]
  /** The effects that a suspended run waits for. */
  readonly suspended: readonly Waiting[]
  /** The approvals that it waits for. */
  readonly approvals: readonly ApprovalView[]
  /** How long the process was stopped or the machine slept, as far as it was noticed. It does not count as work. */
  readonly asleepMs: number
  /** Whether at least one effect was started. */
  readonly hasActed: boolean
  /** Whether it has planned changes that are not made. */
  readonly isPlanned: boolean
  /** Whether something was done and recorded, so that resuming a failed run is worthwhile. */
  readonly canResume: boolean
  /** Masks the secrets of this run's environment in a text. */
  readonly mask: (text: string) => string
  /**
   * Settles once all notices are delivered or given up, to warnings that came too late for an event. Undefined: there
   * are none.
   */
  readonly notified?: Promise<readonly string[]>
}

/** A run to conduct: what to run, and where to record it. */
export interface RunPlan {
  readonly id: string
  readonly invocation: Invocation
  /** Stores the sources of the run; a resumed run gets its original sources from it. */
  readonly sources: SourceRecorder
  /** `-c` values of the resuming process; they take precedence. */
  readonly overrides?: readonly string[]
  /** See `Flags`. */
  readonly recordedServers?: readonly string[]
  /** See `Flags`. */
  readonly recordedOfPack?: (pack: string) => readonly string[] | undefined
  /** See `Flags`. */
  readonly isRecordedTool?: IsRecordedTool
  readonly open: (target: Target, parts: OpenParts) => Promise<OpenedRun>
  readonly isResumed: boolean
  /** When the run began that is resumed or replayed, in milliseconds since 1970. */
  readonly begunAt?: number
  /** It only repeats what is recorded. */
  readonly isReplay?: true
  readonly prepare?: (target: Target) => Target
  /** Replaces the regular work of the target. */
  readonly work?: (target: Target, execution: Execution) => Promise<Ending>
}

export interface OpenParts {
  readonly mask: LiveMask
  readonly bus: Bus
}

export interface OpenedRun {
  readonly journal: RunJournal
  /** Its run folder; omitted if nothing reads the run later. */
  readonly folder?: string
  readonly past?: OlderEpochs
  /** `settle` gets the error that the run threw, or undefined. It throws the error that the run must fail with. */
  readonly replay?: Replay & { readonly settle: (error?: unknown) => void }
}

interface Run {
  readonly plan: RunPlan
  readonly surroundings: Surroundings
  readonly bus: Bus
  readonly mask: LiveMask
  readonly programs: ProgramSecrets
  readonly meter: Meter
  readonly builtInDir: string
  readonly finished: TaskOutcome[]
  readonly repeated: Repeated[]
  readonly leftOut: SkippedChanges
  readonly isRecordedTool: IsRecordedTool | undefined
  readonly onEffect: EffectParts['onEffect']
  readonly onOpen: (run: KeptRun) => void
  readonly onWaiting: EffectParts['onWaiting'] & {}
  /** Gets what earlier processes of the run have done. */
  readonly tally: Pick<Tally, 'addModel' | 'addDegraded' | 'addPlanned'>
  /** Called at the end, with how long the process was stopped or the machine slept. */
  readonly onSlept: (ms: number) => void
  readonly notifier: Notifier | undefined
  readonly onPeriod: (period: PeriodBudget) => void
}

/**
 * Conducts a run to its end: loads and checks everything, opens the record, runs, and closes. `listener` gets every
 * event synchronously; the last one is `run.completed` or `run.failed`. Never rejects for a failure of the run: the
 * report contains it.
 */
export async function conduct(plan: RunPlan, around: Surroundings, listener: Listener): Promise<RunReport> {
  const { id } = plan
  let surroundings = around
  let mask = createMask(surroundings.env)
  const bus = createBus({
    runId: id,
    now: () => new Date(),
    hide: (text) => mask.hide(text),
    begun: (text) => mask.begun(text),
  })
  bus.subscribe(listener)
  const tally = createTally(plan.invocation.conversation === true ? { target: 'conversation' } : {})
  bus.subscribe(withoutPieces(tally.add))
  const leftOut = createSkippedChanges()
  bus.subscribe(withoutPieces(leftOut.add))
  const denials = createDenials()
  bus.subscribe(withoutPieces(denials.add))
  const builtInDir = join(packageRoot(), 'agents')
  const meter = createMeter()
  const finished: TaskOutcome[] = []
  const repeated: Repeated[] = []
  let hasActed = plan.isResumed
  const suspended: Waiting[] = []
  const approvals: ApprovalView[] = []
  const onEffect: EffectParts['onEffect'] = (at, { kind, phase }) => {
    hasActed = true
    if (phase === 'suspended') suspended.push({ place: placeText(at), kind })
  }
  let asleepMs = 0
  let kept: KeptRun | undefined
  let notifier: Notifier | undefined
  let period: PeriodBudget | undefined
  let ending: Ending
  try {
    const gone = plan.isRecordedTool && createMissingTools(plan.isRecordedTool, bus)
    const isRecordedTool = gone?.accepts
    const target = await loadRun({ ...plan, ...defined({ isRecordedTool }) }, surroundings, builtInDir)
    if (target.settings.run?.unattended === true) surroundings = withoutPerson(surroundings)
    const { env, home, log } = surroundings
    if (target.settings.watch === 'prompt') log?.ignoreData()
    const reads = bothReads(log, plan.sources.reads)
    const ofPacks = await serversOfPacks(target, { env, home, cwd: plan.invocation.cwd, reads })
    mask = await maskFor(target, env, ofPacks)
    const programs = createProgramSecrets(mask, env)
    await programs.addFrom(target)
    if (plan.isReplay !== true && (plan.isResumed || target.settings.notify !== undefined)) {
      const { notifierOf } = await import('./notify.ts')
      notifier = await notifierOf(target, { plan, surroundings, bus, mask })
    }
    await sendStart(plan, target, { env, home, bus })
    gone?.tell()
    const onOpen: Run['onOpen'] = (run) => (kept = run)
    const parts = {
      plan,
      surroundings,
      bus,
      mask,
      programs,
      meter,
      builtInDir,
      finished,
      repeated,
      leftOut,
      isRecordedTool,
    }
    const onPeriod: Run['onPeriod'] = (opened) => void (period = opened)
    const onWaiting: Run['onWaiting'] = (view) => void approvals.push(view)
    const onSlept: Run['onSlept'] = (ms) => (asleepMs = ms)
    const told = { onEffect, onOpen, onWaiting, onSlept, onPeriod, tally }
    ending = await runRecorded(target, { ...parts, ...told, notifier })
  } catch (error) {
    if (!bus.hasSent()) await sendStart(plan, undefined, { ...surroundings, bus })
    ending = failedEnding(error, surroundings.signal, finished)
  }
  const total = meter.total()
  const isOver = ending.isFinal === true || ending.stopReason === 'done' || ending.stopReason === 'skipped'
  if (kept !== undefined && isOver) await removeLeftWorktrees(kept, bus)
  bus.send([], endingEvent(ending, { ...total, repeated, suspended, denials: denials.all(), approvals, asleepMs }))
  const result = tally.result()
  if (kept !== undefined) await keepHistory(kept, result && { ...result, ...(ending.isFinal && { resumable: false }) })
  // from now on, the index says what it cost
  period?.close()
  const exitCode = exitCodeFor(ending)
  const { folder } = kept ?? {}
  return {
    ...ending,
    ...total,
    runId: id,
    folder,
    exitCode,
    repeated,
    suspended,
    approvals,
    asleepMs,
    hasActed,
    isPlanned: result?.not_applied === true,
    canResume: hasActed && kept !== undefined && ending.isFinal !== true,
    mask: mask.hide,
    ...(notifier && { notified: notifier.close() }),
  }
}

/** Nobody is asked, whoever started the run; not if it is a message that somebody types. */
function withoutPerson({ unattendedApprover, ...others }: Surroundings): Surroundings {
  if (unattendedApprover === undefined) return others
  const { askPerson: _, ...rest } = others
  return { ...rest, isAttended: false, approver: unattendedApprover }
}

/** The limits of the day and the month; undefined without any. */
async function periodOf(
  { settings: { budget, runs }, workspace }: Target,
  {
    plan,
    folder,
    ...around
  }: Pick<Surroundings, 'env' | 'home'> & {
    readonly plan: RunPlan
    readonly folder: string | undefined
  },
): Promise<PeriodBudget | undefined> {
  const limits = plan.isResumed ? { ...budget, ...(await periodLimitsNow(plan, around)) } : budget
  if (limits.day === undefined && limits.month === undefined) return undefined
  const { openPeriodBudget } = await import('../journal/period-budget.ts')
  return openPeriodBudget({
    limits,
    folder: folder ?? join(runsFolder({ ...around, workspace, runsDir: runs.dir }), plan.id),
    holds: join(stateFolder(around), 'held'),
  })
}

/** What all runs may cost does not belong to a run: a resume follows the user's config as it is now, unless `-c` says more. */
async function periodLimitsNow(
  { overrides = [], invocation: { cwd } }: RunPlan,
  around: Pick<Surroundings, 'env' | 'home'>,
): Promise<PeriodLimits> {
  if (overrides.some((text) => /^budget\.(?:day|month)\b/.test(text))) return {}
  const { readConfigFiles } = await import('../config/config-files.ts')
  const { own } = await readConfigFiles({ ...around, cwd })
  const valueOf = (period: string) => own.find(({ path }) => path.join('.') === `budget.${period}`)?.value
  return { day: valueOf('day'), month: valueOf('month') } as PeriodLimits
}

/** Where a run is kept on disk, and for how long, in milliseconds. */
interface KeptRun {
  readonly folder: string
  readonly workspace: string
  readonly keepMs: number | undefined
}

async function keepHistory({ folder, workspace, keepMs }: KeptRun, result: ReturnType<Tally['result']>): Promise<void> {
  if (result === undefined) return
  await finishHistory(folder, result)
  await removeEndedWorktrees(dirname(folder), workspace)
  if (keepMs !== undefined) await pruneRuns(dirname(folder), { keepMs, now: new Date() })
}

/** Worktrees are not needed once a run cannot be resumed. One that cannot be removed here is removed with the run. */
async function removeLeftWorktrees({ folder, workspace }: KeptRun, bus: Bus): Promise<void> {
  try {
    await removeRunWorktrees(folder, workspace)
  } catch (error) {
    bus.send([], { type: 'warning', message: `a work tree in ${folder} could not be removed: ${messageOf(error)}` })
  }
}

async function runRecorded(loaded: Target, run: Run): Promise<Ending> {
  const { plan, surroundings, bus, mask, meter, finished, onOpen, onSlept, tally } = run
  const { signal, home, openBudget = createBudget, reuse, hooks = [] } = surroundings
  const { cwd, dry, patienceMs, rounds } = plan.invocation
  const target = plan.invocation.chat === undefined ? loaded : await inChat(loaded, run)
  const { budget, timeout_ms: timeoutMs } = target.settings
  if (plan.invocation.conversation === true && plan.work === undefined) throw noConversation()
  const { journal, folder, past, replay } = await plan.open(target, { mask, bus })
  if (folder !== undefined) onOpen({ folder, workspace: target.workspace, keepMs: target.settings.runs.keep_ms })
  const tooLarge = journal.limitSize?.(target.settings.runs.max_bytes) ?? (() => undefined)
  const deadline = openDeadline(signal, timeoutMs)
  const gaps = createGaps(bus, journal)
  const time = startStopwatch(systemTime, gaps.add)
  // what an event reports has its time before the next tick
  bus.subscribe(withoutPieces(() => void time.elapsedMs()))
  const gapsBefore = past === undefined ? [] : unmeasuredGaps(past.index)
  const before = { gapsBeforeMs: sum(gapsBefore), asleepBeforeMs: sum(gapsBefore.filter((ms) => ms > 0)) }
  const times = () => ({ workedMs: time.elapsedMs(), asleepMs: gaps.asleepMs(), ...before })
  // read by a server that shows the run
  const publication = folder === undefined || replay !== undefined ? undefined : publishTexts(folder)
  if (publication !== undefined) bus.subscribe((event) => publication.add(event))
  let servers: RunServers | undefined
  try {
    const reads = bothReads(surroundings.log, plan.sources.reads)
    const { env, session } = surroundings
    servers =
      replay === undefined
        ? await openRunServers(target, { env, home, cwd, reads, journal, bus, signal: deadline.signal, session })
        : replayedServers(replay)
    for (const { place, spent } of past?.index.modelCalls() ?? []) {
      for (const call of spent) {
        meter.add(parsePlace(place), call)
        tally.addModel(call.model)
      }
    }
    for (const place of past?.index.degraded() ?? []) tally.addDegraded(place)
    const { toTokens } = createPathTokens(
      runFolders({ workspace: target.workspace, home, run: folder ?? replay?.folder }),
    )
    const spending = past === undefined ? openBudget(budget) : createBudget(budget, undefined, costBelow(past.index))
    run.notifier?.watch({ limits: budget, spent: () => spending.spent() })
    const period = replay === undefined ? await periodOf(target, { plan, env, home, folder }) : undefined
    if (period !== undefined) run.onPeriod(period)
    const { context: contextOf, checkModels } = wireRun(target, {
      ...surroundings,
      ...run,
      ...defined({ signal: deadline.signal, folder }),
      id: plan.id,
      journal,
      portable: (text) => toTokens(journal.mask.mask(text)),
      onSecret: (name, value) => mask.add({ values: { [name]: value } }),
      budget: spending,
      ...defined({ period }),
      cwd,
      dry,
      sources: plan.sources,
      hooks: [
        ...(reuse === undefined ? [] : [reuse.hook(target.workspace)]),
        ...hooks,
        ...(await notesOf(plan, loaded, { env, home })),
      ],
      patienceMs,
      hasFormerRounds: rounds === undefined,
      replay,
      servers,
      past: past && (await import('./older-epochs.ts')).readOlderEpochs(past, { journal, workspace: target.workspace }),
      onRepeat: (one) => run.repeated.push(one),
      onPlannedBefore: tally.addPlanned,
    })
    if (replay === undefined) await checkModels()
    const context = await contextOf()
    const execution = {
      context: reuse?.around(context, { journal, folder }) ?? context,
      strategies,
      finished,
      hide: (text: string) => mask.hide(text),
    }
    const ended = await (plan.work?.(target, execution) ?? execute(target, inputsOf(plan.invocation), execution))
    const over = replay === undefined ? overspent(budget, spending) : undefined
    if (over !== undefined) bus.send([], { type: 'warning', ...over })
    const refused = tooLarge()
    if (refused !== undefined) throw refused
    const ending = run.leftOut.judge(ended)
    replay?.settle()
    const facts = { result: resultHash(ending, toTokens) }
    recordEnd(journal, ending, { facts, ...times() })
    return ending
  } catch (error) {
    // if the journal stopped the run, that is the reason, whichever error surfaced first
    const reason: unknown = journal.failure.aborted
      ? journal.failure.reason
      : (tooLarge() ?? deadline.passed() ?? error)
    recordEnd(journal, failedEnding(reason, signal), times())
    replay?.settle(reason)
    throw reason
  } finally {
    time.end()
    publication?.close()
    onSlept(gaps.asleepMs())
    deadline.close()
    await servers?.close()
    await journal.close()
  }
}

/**
 * Notes the changes for watch sessions of other processes, which start no run for them. Not those of a run that the user
 * has started: they count like changes of the user.
 */
async function notesOf(
  { isResumed, work }: RunPlan,
  { workspace }: Target,
  around: Pick<Surroundings, 'env' | 'home'>,
): Promise<readonly EffectHook[]> {
  const isOfRun = !isResumed && work === undefined
  // most workspaces have no triggers: nothing else is loaded for them
  if (isOfRun && !existsSync(join(triggersFolder(around, workspace), triggersOwner))) return []
  const { ownChangesHook } = await import('../tool/own-changes.ts')
  return [ownChangesHook(workspace, around, { isOfRun })]
}

async function inChat(target: Target, { plan, surroundings: { env, home, session }, mask, bus }: Run): Promise<Target> {
  const { withHistory } = await import('./chat-history.ts')
  const parts = { env, home, mask, bus, isResumed: plan.isResumed, ...defined({ session, begunAt: plan.begunAt }) }
  const inside = await withHistory(target, plan.invocation, parts)
  // the user waits for the answer
  return inside.kind === 'prompt' ? { ...inside, settings: { ...inside.settings, batch: false } } : inside
}

/** The warning for a run that exceeded its cost limit: the cost of a program is known only when it has ended. */
function overspent(
  { usd: limit }: BudgetLimits,
  budget: RunBudget,
): { readonly message: string; readonly hint: string } | undefined {
  const { usd } = budget.spent()
  if (limit === undefined || usd <= limit) return undefined
  const message = `the run cost $${usd.toFixed(4)}, which is above its limit, budget.usd = ${limit}`
  return {
    message,
    hint: 'A program, or a call that costs more than its estimate, can exceed a limit: only what follows is stopped.',
  }
}

function noConversation(): BatonError {
  return new BatonError('USAGE', 'this run is a conversation, which only its program can continue', {
    hint: 'Open a new one, with prompts() of this one as its history.',
  })
}

/** The gaps of processes that have not recorded how long they worked. */
function unmeasuredGaps({ records }: Pick<RunIndex, 'records'>): readonly number[] {
  const measured = new Set(records('run.end').map(({ e }) => e))
  return records('gap').flatMap(({ e, ms }) => (measured.has(e) ? [] : [ms]))
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0)
}

/** A shorter gap may also be a machine that is busy with something else. */
const namedGapMs = 5_000

/** The gaps in the work time of a run: recorded, warned of once, and added up. */
function createGaps(bus: Bus, journal: Pick<RunJournal, 'note' | 'failure'>) {
  let isTold = false
  let asleepMs = 0
  return {
    asleepMs: () => asleepMs,
    add: (ms: number): void => {
      if (Math.abs(ms) < namedGapMs) return
      asleepMs += Math.max(0, ms)
      if (!journal.failure.aborted) journal.note({ k: 'gap', ms: Math.round(ms) })
      if (isTold) return
      isTold = true
      const message =
        ms < 0
          ? `the clock of the machine was set back by ${durationText(-ms)}`
          : `the machine was asleep or its clock was set: ${durationText(ms)} do not count`
      bus.send([], { type: 'warning', message, hint: 'Time limits and durations continue where they were.' })
    },
  }
}

/** Stops a run that exceeds its timeout in the same way as an external signal. */
function openDeadline(signal: AbortSignal | undefined, timeoutMs: number | undefined) {
  if (timeoutMs === undefined) return { signal, passed: () => undefined, close: () => undefined }
  const limit = new AbortController()
  const close = startLimit(timeoutMs, () => {
    const message = `the run took longer than its timeout, ${durationText(timeoutMs)}`
    limit.abort(
      new BatonError('LIMIT', message, {
        hint: 'Resume it, which gives it the same time again, or more with --timeout.',
        limit: 'timeout',
      }),
    )
  })
  return {
    signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
    /** The error of a run that this stopped, whichever error surfaced first. */
    passed: () => (limit.signal.aborted && signal?.aborted !== true ? (limit.signal.reason as BatonError) : undefined),
    close,
  }
}
