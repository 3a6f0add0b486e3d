import { isRunTooLarge, isSuspension, stopsRun } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, defined, type Json, type JsonObject } from '../base/json.ts'
import { createInOrder, type InOrder } from '../base/concurrency.ts'
import type { Settings } from '../config/settings.ts'
import { below, emit, type RunContext, withServices, type Sender } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import type { ErrorInfo } from '../event/event.ts'
import { item, part, placeText, task } from '../event/place.ts'
import { withoutLimits } from '../event/limits.ts'
import { type Part, runPart } from '../event/part.ts'
import { failureOf } from './answer.ts'
import { type FileSet, listFileSet, placeGlobErrors } from './files.ts'
import type { ResourcesOf } from './resources.ts'
import { planTasks, type TaskPlan } from './plan.ts'
import { endsAll } from './ending.ts'
import { runTask } from './task.ts'
import { createLocalQueue, mapQueued, type QueuedWork, type TaskQueue } from './task-queue.ts'
import {
  answeringStrategy,
  type PromptRun,
  type Round,
  type RoundTasks,
  type TaskOutcome,
  type TasksEnd,
  type RoundResult,
  type RoundContext,
  type Strategy,
} from './strategy.ts'
import type { Spent } from '../event/meter.ts'

/** Works on all tasks, with the current files. */
export async function runAllTasks(
  { run, state, redoCount, services, settings, resourcesOf }: RoundTasks,
  { delivery, context, promptOf, isIteration }: RoundContext,
): Promise<RoundResult> {
  const { target, given, strategies } = run
  const { spec } = target
  const filesOf = createFileCache(settings, { spec, resourcesOf }, context)
  const filesIn: Round['filesIn'] = (own, at) => createFileCache(own, { spec, resourcesOf }, at)(own)
  const round: Round = {
    target,
    strategies,
    state,
    redoCount,
    services,
    given,
    filesOf,
    filesIn,
    ...defined({ promptOf }),
  }
  const files = await placeGlobErrors(target, () => filesOf(settings))
  const sources = { file: spec.file, inputs: run.inputs, groups: files.groups }
  const plans = planTasks({
    ...sources,
    strategy: answeringStrategy(strategies, settings),
    ...defined({ asked: spec.asked }),
  })
  if (plans.length === 0) return { status: 'nothing' }
  const shared = sharedInputs(round, settings)
  const tasks: Tasks = {
    round,
    shared,
    settings,
    deliver: delivery.of(plans.length),
    onFailure: run.onFailure,
    queue: createLocalQueue(),
    isIteration: isIteration === true,
  }
  return { status: 'worked', files, ...(await runTasks(plans, tasks, context)) }
}

/**
 * Lists files once per round and settings, so that every task of a round sees the same list. Lists for settings other
 * than the round's own are recorded by their settings, because which task lists first differs between processes.
 */
export function createFileCache(
  own: Settings,
  { spec, resourcesOf }: { readonly spec: PromptRun['target']['spec']; readonly resourcesOf: ResourcesOf },
  context: RunContext,
): Round['filesOf'] {
  const lists = new Map<string, Promise<FileSet>>()
  const keyOf = ({ base_dir, globs }: Settings): string => canonicalJson({ base_dir, globs: globs as unknown as Json })
  const ownKey = keyOf(own)
  const listOf = (settings: Settings): Promise<FileSet> => {
    const key = keyOf(settings)
    const known = lists.get(key)
    if (known !== undefined) return known
    const at = key === ownKey ? context : below(context, part('files'), item(sha256(key).slice(0, 12)))
    const listed = listFileSet(settings, { context: at, spec })
    lists.set(key, listed)
    return listed
  }
  return async (settings) => {
    const files = await listOf(settings)
    const resources = await resourcesOf(settings)
    return resources.length === 0 ? files : { ...files, resources }
  }
}

interface Tasks {
  readonly round: Round
  readonly shared: SharedInputs
  readonly settings: Settings
  readonly deliver: InOrder<TaskOutcome>
  readonly onFailure: PromptRun['onFailure']
  readonly queue: TaskQueue
  /** Treats failures as outcomes, and keeps the work of each task with its outcome. */
  readonly isIteration: boolean
}

/**
 * Runs the tasks. A task that is suspended, or for which the record has no room, does not stop the others, because they
 * are paid for, or may be suspended as well.
 */
async function runTasks(plans: readonly TaskPlan[], tasks: Tasks, context: RunContext): Promise<TasksEnd> {
  const { settings, queue } = tasks
  const limit = settings.input_concurrency
  emit(context, { type: 'tasks.planned', count: plans.length, concurrency: limit })
  const { batches, piece: outer } = context.services
  // a file that is run as an agent belongs to the piece of its caller
  const opens = settings.batch === true && outer === undefined && context.scope.dry !== 'req'
  const pieces = opens ? ((await batches?.open(plans.length, limit)) ?? []) : []
  const placeOfTask = (index: number): RunContext => below(context, task(index))
  const queued: QueuedWork<TaskPlan> = {
    queue,
    run: context.scope.runId,
    taskOf: ({ input }, index) => ({ place: placeText(placeOfTask(index).scope.at), input }),
    // all of them are started, so that their calls are sent together
    limit: pieces.length > 0 ? plans.length : limit,
    signal: context.services.signal,
  }
  let suspension: TasksEnd['suspension']
  let tooLarge: { readonly error: unknown } | undefined
  const outcomes = await mapQueued(plans, queued, async (plan, index, signal) => {
    const piece = pieces[index]
    const at = withServices(placeOfTask(index), { signal, ...defined({ piece }) })
    const work = (): Promise<TaskOutcome> => runOne(plan, tasks, at)
    try {
      return await (piece === undefined ? work() : piece.run(work, signal))
    } catch (error) {
      if (isRunTooLarge(error)) {
        tooLarge ??= { error }
        return failedTask(plan, error)
      }
      if (!isSuspension(error)) throw error
      suspension ??= { error }
      const { label } = plan
      const outcome = { status: 'suspended', index, label, error: errorInfo(error), agentResult: null } as const
      announce(outcome, at)
      return outcome
    }
  })
  if (tooLarge !== undefined) throw tooLarge.error
  return { outcomes, suspension }
}

/** @throws what ends the run: a suspension, or the failure of a task if the file does not allow it */
async function runOne(
  plan: TaskPlan,
  { round, shared, settings, deliver, onFailure, isIteration }: Tasks,
  at: RunContext,
): Promise<TaskOutcome> {
  const { index, label, count } = plan
  emit(at, { type: 'task.started', index, label, count })
  let failure: { readonly error: unknown } | undefined
  async function attempt(inner: RunContext): Promise<TaskOutcome> {
    failure = undefined
    try {
      return await runTask(plan, round, inner)
    } catch (caught) {
      inner.services.signal.throwIfAborted()
      failure = failureOf(caught)
      if (stopsRun(failure.error) || (isIteration && endsAll(failure.error))) throw failure.error
      return failedTask(plan, caught)
    }
  }
  const work: Part<TaskOutcome> = {
    label,
    async work(inner) {
      if (!isIteration) return attempt(inner)
      const { value, ...work } = await watchWork(attempt, inner)
      return { ...value, work }
    },
    inputs: taskInputs(plan, shared),
    partInputs: keysOfParts(round),
    isFinal: (outcome) => failureIn(outcome) === undefined,
    failureIn,
  }
  const outcome = await runPart(work, at)
  announce(outcome, at)
  if (failure !== undefined && !settings.allow_run_on_task_fail && !isIteration) {
    onFailure?.(outcome, count)
    throw failure.error
  }
  deliver.add(index, outcome)
  return outcome
}

type SharedInputs = ReturnType<typeof sharedInputs>

/** The inputs of all tasks of a round, without limits. Frozen values are hashed only once for all tasks. */
function sharedInputs(round: Round, settings: Settings) {
  const { target, state, given, redoCount } = round
  const { spec, vars, stdin } = target
  const parts = keysOfParts(round)
  const withoutParts = (values: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !parts.some((one) => one === key)))
  // without rules, so that a run stopped by a rule can be resumed with a different one; the front matter is in params
  const { permission: _, ...others } = settings
  return {
    params: Object.freeze(withoutLimits(withoutParts(state.params))),
    prompts: state.prompts,
    settings: Object.freeze(withoutLimits(withoutParts(others as unknown as JsonObject))),
    ...Object.fromEntries(parts.map((key) => [key, settings[key] && Object.freeze(settings[key])])),
    agents: Object.freeze([...spec.agents]),
    given,
    vars,
    stdin,
    redoCount,
  }
}

/** The tables of strategies whose parts are inputs only of themselves. */
function keysOfParts({ strategies }: Round): readonly Strategy['key'][] {
  return strategies.flatMap(({ key, hasParts }) => (hasParts === true ? [key] : []))
}

/**
 * The inputs of a task. File sizes are not among them, because they matter only for a limit, nor is `position`, because
 * a later run may have more tasks.
 */
function taskInputs({ index, count, label, input, working }: TaskPlan, shared: SharedInputs) {
  const plan = { label, input, working: working.map(({ path }) => path) }
  return { plan, position: { index, count }, ...shared }
}

/** A resumed run repeats a task that failed, or that has a part of its answer. */
function failureIn(outcome: TaskOutcome): ErrorInfo | undefined {
  if (outcome.status === 'failed') return outcome.error
  return outcome.status === 'done' ? outcome.partial : undefined
}

function failedTask({ index, label }: TaskPlan, caught: unknown): TaskOutcome {
  const { error, ...answered } = failureOf(caught)
  return { status: 'failed', index, label, error: errorInfo(error), agentResult: null, ...answered }
}

function announce(outcome: TaskOutcome, context: Sender): void {
  const { index, label } = outcome
  switch (outcome.status) {
    case 'done':
      return emit(context, { type: 'task.completed', index, label, output: outcome.content })
    case 'skipped':
      return emit(context, { type: 'task.skipped', index, label, reason: outcome.reason })
    case 'failed':
      return emit(context, { type: 'task.failed', index, label, error: outcome.error })
    case 'suspended':
      return emit(context, { type: 'task.suspended', index, label, error: outcome.error })
  }
}

/** Receives outcomes in input order. */
export interface Delivery {
  of(count: number): InOrder<TaskOutcome>
  /** Held outcomes are replaced by the following ones. */
  restart(): void
  /** Uses these if nothing was delivered since the last restart. */
  deliver(outcomes: readonly TaskOutcome[]): void
  release(): void
}

/** `held`: passes nothing on before the release, because later outcomes may replace earlier ones. */
export function createDelivery(
  onOutcome: (outcome: TaskOutcome, count: number) => void,
  { held }: { readonly held: boolean },
): Delivery {
  let current: InOrder<TaskOutcome> | undefined
  function begin(count: number): InOrder<TaskOutcome> {
    return (current = createInOrder((outcome: TaskOutcome) => onOutcome(outcome, count), { held }))
  }
  return {
    of: begin,
    restart: () => (current = undefined),
    deliver(outcomes) {
      if (current !== undefined) return
      const order = begin(outcomes.length)
      for (const outcome of outcomes) order.add(outcome.index, outcome)
    },
    release: () => current?.release(),
  }
}

/** The work of a part of an iteration. Plain JSON. */
export interface WorkDone {
  /** Including that of sub-agents. */
  readonly spent: Spent
  /** The changed files, relative to the workspace, sorted. */
  readonly changed: readonly string[]
}

/** Does some work, and returns what it used and which files it changed. */
export async function watchWork<T>(
  work: (context: RunContext) => Promise<T>,
  context: RunContext,
): Promise<WorkDone & { readonly value: T }> {
  const { scope, services } = context
  const changed = new Set<string>()
  const events: typeof services.events = (place, event) => {
    if (event.type === 'file.changed') changed.add(event.path)
    services.events(place, event)
  }
  const { value, spent } = await services.meter.measure(scope.at, () => work(withServices(context, { events })))
  return { value, spent, changed: [...changed].toSorted() }
}
