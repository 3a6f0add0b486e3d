import { isRunTooLarge, isSuspension, stopsRun } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, defined, equalJson, type Json, type JsonObject } from '../base/json.ts'
import { createInOrder, type InOrder } from '../base/concurrency.ts'
import type { Settings } from '../config/settings.ts'
import type { PromptInput } from '../event/agent.ts'
import { below, emit, narrow, type RunContext, withServices } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { item, part, placeText, task } from '../event/place.ts'
import { withoutLimits } from '../event/limits.ts'
import { type Part, runPart } from '../event/part.ts'
import { placeOf } from '../prompt/document.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, variableInput } from '../stage/state.ts'
import { fileInputs, type FileSet, listFileSet, placeGlobErrors } from './files.ts'
import { failureOf } from './answer.ts'
import { planTasks, type TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'
import { createLocalQueue, mapQueued, type QueuedWork, type TaskQueue } from './task-queue.ts'
import { maxRedo, type RoundOutcome, runRounds } from './execute.ts'
import { emptyInstruction, isWithoutWork, type Round, runTask, type TaskOutcome, valueOf } from './task.ts'

export interface PromptRun {
  readonly target: PromptTarget
  /** `-i` values. */
  readonly inputs: readonly string[]
  readonly given?: PromptInput
  /** Gets the outcome of each task in input order, as soon as no later round can replace it. */
  readonly onOutcome: (outcome: TaskOutcome, count: number) => void
  readonly onFailure?: (outcome: TaskOutcome, count: number) => void
}

export type PromptOutcome =
  | { readonly status: 'done'; readonly outcomes: readonly TaskOutcome[]; readonly agentResult: Json }
  | { readonly status: 'skipped'; readonly reason: string; readonly hint: string }
  /** At least one task waits, and all others have ended; `error` is the suspension of the first. */
  | { readonly status: 'suspended'; readonly outcomes: readonly TaskOutcome[]; readonly error: unknown }

/**
 * Runs a prompt file: `pre` chain, tasks in order and bounded, `post` chain, and again from the front matter when a
 * `post` agent asked for another round. Tasks that failed are outcomes when the file allows them.
 * @throws BatonError when a chain or (without `allow_run_on_task_fail`) a task fails
 */
export function runPrompt(run: PromptRun, context: RunContext): Promise<PromptOutcome> {
  return runRounds((redoCount, at) => runRound(run, redoCount, at), {
    context,
    cure: 'A post agent keeps returning coder_redo; let it look at coder_redo_count.',
  })
}

async function runRound(run: PromptRun, redoCount: number, around: RunContext): Promise<RoundOutcome<PromptOutcome>> {
  const { target } = run
  const { spec } = target
  const services: ChainServices = {
    findAgent: target.findAgent,
    checkParams: target.settingsFor,
    placeOf: async (config) =>
      spec.agents.includes(config) ? placeOf(spec.document, ['sub_agents', config.index, 'name'], 'value') : undefined,
  }
  const call = { agents: spec.agents, promptDir: spec.promptDir, redoCount }
  const start: ChainState = { params: spec.params, prompts: [spec.document.instruction] }
  const { state } = await runChain(
    { ...call, stage: 'pre', state: start, extra: variableInput(target) },
    services,
    around,
  )
  if (isWithoutWork(state, target)) return skipped('no instruction', spec)

  const settings = target.settingsFor(state.params)
  // a chain may lower the budget
  const isSame = equalJson(settings.budget as Json, target.settings.budget as Json)
  const context = isSame ? around : narrow(around, { budget: settings.budget })
  const { given } = run
  const filesOf = createFileCache(settings, spec.file, context)
  const round: Round = { target, state, redoCount, services, given, filesOf }
  const files = await placeGlobErrors(target, () => filesOf(settings))
  const { workflow } = settings
  const plans = planTasks({ file: spec.file, inputs: run.inputs, groups: files.groups, ...defined({ workflow }) })
  if (plans.length === 0) return skipped('no working files', spec)

  // a post agent may still ask for another round, which replaces the answers
  const held = spec.agents.some(({ enabled, stages }) => enabled && stages.includes('post'))
  const deliver = createInOrder((outcome: TaskOutcome) => run.onOutcome(outcome, plans.length), { held })
  try {
    const shared = sharedInputs(round, settings)
    const tasks = { round, shared, settings, deliver, onFailure: run.onFailure, queue: createLocalQueue() }
    const { outcomes, suspension } = await runTasks(plans, tasks, context)
    if (suspension !== undefined) {
      deliver.release()
      return { outcome: { status: 'suspended', outcomes, error: suspension.error }, redo: false }
    }
    // what comes behind the changes would find files without them
    if (context.scope.dry === 'changes') {
      deliver.release()
      return { outcome: { status: 'done', outcomes, agentResult: null }, redo: false }
    }
    const post = await runChain(
      {
        ...call,
        stage: 'post',
        state,
        extra: { ...variableInput(target), coder_responses: outcomes.map(responseOf), ...fileInputs(files) },
      },
      services,
      context,
    )
    if (!post.redo || redoCount >= maxRedo) deliver.release()
    return { outcome: { status: 'done', outcomes, agentResult: post.agentResult ?? null }, redo: post.redo }
  } catch (error) {
    // answers are paid for: a failure further on does not take them away
    deliver.release()
    throw error
  }
}

/** Why a prompt file does nothing, and what its author can do. */
export function skipOf(
  why: 'no instruction' | 'no working files',
  { file, source, layers, workspace }: PromptTarget['spec'],
): { readonly reason: string; readonly hint: string } {
  const given = layers.above.findLast(({ values }) => values['working_globs'] !== undefined)
  if (why === 'no working files' && given !== undefined) {
    const globs = [given.values['working_globs']].flat(2).map(String).join(', ')
    const hint = 'Globs of -f start in the current folder, and their files must be inside the workspace.'
    return { reason: `no file matches what the command line names: ${globs}`, hint }
  }
  const reason = why === 'no instruction' ? emptyInstruction : 'working_globs match no file'
  return { reason, hint: source === 'file' ? `Edit ${displayPath(workspace, file)}.` : `Say more in ${file}.` }
}

function skipped(...given: Parameters<typeof skipOf>): RoundOutcome<PromptOutcome> {
  return { outcome: { status: 'skipped', ...skipOf(...given) }, redo: false }
}

/**
 * Files are listed once per round and settings, so every task of a round sees the same list. Lists of other settings than
 * the round's own are recorded by what they are of: which task asks first differs from process to process.
 */
function createFileCache(own: Settings, file: string, context: RunContext): Round['filesOf'] {
  const promptFile = realPath(file)
  const lists = new Map<string, Promise<FileSet>>()
  const keyOf = ({ base_dir, globs }: Settings): string => canonicalJson({ base_dir, globs: globs as unknown as Json })
  const ownKey = keyOf(own)
  return (settings) => {
    const key = keyOf(settings)
    const known = lists.get(key)
    if (known !== undefined) return known
    const at = key === ownKey ? context : below(context, part('files'), item(sha256(key).slice(0, 12)))
    const listed = listFileSet(settings, { context: at, promptFile })
    lists.set(key, listed)
    return listed
  }
}

interface Tasks {
  readonly round: Round
  readonly shared: SharedInputs
  readonly settings: Settings
  readonly deliver: InOrder<TaskOutcome>
  readonly onFailure: PromptRun['onFailure']
  readonly queue: TaskQueue
}

interface TasksEnd {
  readonly outcomes: readonly TaskOutcome[]
  /** Of the first task that waits. */
  readonly suspension: { readonly error: unknown } | undefined
}

/**
 * Runs the tasks. One that is suspended, or finds no room in the record, does not stop the others: they are paid for, or may
 * be suspended as well.
 */
async function runTasks(plans: readonly TaskPlan[], tasks: Tasks, context: RunContext): Promise<TasksEnd> {
  const { settings, queue } = tasks
  const limit = settings.input_concurrency
  emit(context, { type: 'tasks.planned', count: plans.length, concurrency: limit })
  const placeOfTask = (index: number): RunContext => below(context, task(index))
  const queued: QueuedWork<TaskPlan> = {
    queue,
    run: context.scope.runId,
    taskOf: ({ input }, index) => ({ place: placeText(placeOfTask(index).scope.at), input }),
    limit,
    signal: context.services.signal,
  }
  let suspension: TasksEnd['suspension']
  let tooLarge: { readonly error: unknown } | undefined
  const outcomes = await mapQueued(plans, queued, async (plan, index, signal) => {
    const at = withServices(placeOfTask(index), { signal })
    try {
      return await runOne(plan, tasks, at)
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

/** @throws what ends the run: a suspension, and the failure of a task where the file does not allow it */
async function runOne(
  plan: TaskPlan,
  { round, shared, settings, deliver, onFailure }: Tasks,
  at: RunContext,
): Promise<TaskOutcome> {
  const { index, label, count } = plan
  emit(at, { type: 'task.started', index, label, count })
  let failure: { readonly error: unknown } | undefined
  const work: Part<TaskOutcome> = {
    label,
    async work(inner) {
      failure = undefined
      try {
        return await runTask(plan, round, inner)
      } catch (caught) {
        inner.services.signal.throwIfAborted()
        failure = failureOf(caught)
        if (stopsRun(failure.error)) throw failure.error
        return failedTask(plan, caught)
      }
    },
    inputs: taskInputs(plan, shared),
    partInputs: ['workflow'],
    isFinal: ({ status }) => status !== 'failed',
    failureIn: (outcome) => (outcome.status === 'failed' ? outcome.error : undefined),
  }
  const outcome = await runPart(work, at)
  announce(outcome, at)
  if (failure !== undefined && !settings.allow_run_on_task_fail) {
    onFailure?.(outcome, count)
    throw failure.error
  }
  deliver.add(index, outcome)
  return outcome
}

type SharedInputs = ReturnType<typeof sharedInputs>

/** What decides the work of all tasks of a round: limits do not. Frozen values are hashed once for all of them. */
function sharedInputs({ target, state, given, redoCount }: Round, settings: Settings) {
  const { spec, vars, stdin } = target
  return {
    params: Object.freeze(withoutWorkflow(withoutLimits(state.params))),
    prompts: state.prompts,
    settings: Object.freeze(withoutWorkflow(withoutLimits(settings as unknown as JsonObject))),
    workflow: settings.workflow && Object.freeze(settings.workflow),
    agents: Object.freeze([...spec.agents]),
    given,
    vars,
    stdin,
    redoCount,
  }
}

/** Its steps decide only themselves. */
function withoutWorkflow(values: JsonObject): JsonObject {
  const { workflow: _, ...others } = values
  return others
}

/**
 * What decides the work of a task: sizes of files do not, which only count for a limit. `position` is not part of what a
 * task is: a later run may have more of them.
 */
function taskInputs({ index, count, label, input, working }: TaskPlan, shared: SharedInputs) {
  const plan = { label, input, working: working.map(({ path }) => path) }
  return { plan, position: { index, count }, ...shared }
}

function failedTask({ index, label }: TaskPlan, caught: unknown): TaskOutcome {
  const { error, ...answered } = failureOf(caught)
  return { status: 'failed', index, label, error: errorInfo(error), agentResult: null, ...answered }
}

function announce(outcome: TaskOutcome, context: RunContext): void {
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

/** What `post` agents see of a task. */
function responseOf(outcome: TaskOutcome): JsonObject {
  const { index, label, agentResult } = outcome
  const base = { index, label, agent_result: agentResult }
  switch (outcome.status) {
    case 'done':
      return { ...base, content: outcome.content, content_extruded: outcome.content, ...valueOf(outcome) }
    case 'skipped':
      return { ...base, skipped: outcome.reason }
    case 'failed':
    case 'suspended':
      return { ...base, error: outcome.error.message }
  }
}
