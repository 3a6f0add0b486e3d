import { isBatonError, rewordError, stopsRun } from '../base/error.ts'
import { canonicalJson, isObject, type Json, type JsonObject } from '../base/json.ts'
import { realPath } from '../base/files.ts'
import { createInOrder, type InOrder } from '../base/in-order.ts'
import type { Settings } from '../config/settings.ts'
import type { PromptInput } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { placeText } from '../event/effects.ts'
import { withoutLimits } from '../event/limits.ts'
import { type Part, runPart } from '../event/part.ts'
import { placeOf } from '../prompt/document.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import { type FileSet, listFileSet } from './files.ts'
import { failureOf } from './given-answer.ts'
import { planTasks, type TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'
import { createLocalQueue } from './local-queue.ts'
import { mapQueued, type QueuedWork } from './queued.ts'
import { maxRedo, type RoundOutcome, runRounds } from './rounds.ts'
import type { TaskQueue } from './task-queue.ts'
import { variableInput } from './variable-input.ts'
import { emptyInstruction, type Round, runTask, type TaskOutcome, valueOf } from './task.ts'

export interface PromptRun {
  readonly target: PromptTarget
  /** `-i` values. */
  readonly inputs: readonly string[]
  /** What a caller gives a file that is run as an agent. */
  readonly given?: PromptInput
  /** Told what limits hold once the `pre` chain is through, in every round: a chain may lower them. */
  readonly onBudget?: (budget: Settings['budget']) => void
  /** Gets the outcome of each task in input order, as soon as no later round can replace it. */
  readonly onOutcome: (outcome: TaskOutcome, count: number) => void
  /** Told of the task that ends the run by failing. */
  readonly onFailure?: (outcome: TaskOutcome) => void
}

export type PromptOutcome =
  | { readonly status: 'done'; readonly outcomes: readonly TaskOutcome[]; readonly agentResult: Json }
  | { readonly status: 'skipped'; readonly reason: string; readonly hint: string }

/**
 * Runs a prompt file: `pre` chain, tasks in order and bounded, `post` chain, and again from the front matter when a
 * `post` agent asked for another round (DESIGN 2). Tasks that failed are outcomes when the file allows them.
 * @throws BatonError when a chain or (without `allow_run_on_task_fail`) a task fails
 */
export function runPrompt(run: PromptRun, context: RunContext): Promise<PromptOutcome> {
  return runRounds((redoCount, at) => runRound(run, redoCount, at), {
    context,
    cure: 'A post agent keeps returning coder_redo; let it look at coder_redo_count.',
  })
}

async function runRound(run: PromptRun, redoCount: number, context: RunContext): Promise<RoundOutcome<PromptOutcome>> {
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
    context,
  )
  if (instructionOf(state).trim() === '') return { outcome: skipped(emptyInstruction, spec), redo: false }

  const settings = target.settingsFor(state.params)
  run.onBudget?.(settings.budget)
  const { given } = run
  const round: Round = { target, state, redoCount, services, given, filesOf: createFileCache(context, spec.file) }
  const files = await placeGlobErrors(target, () => round.filesOf(settings))
  const plans = planTasks({ file: spec.file, inputs: run.inputs, groups: files.groups })
  if (plans.length === 0) return { outcome: skipped('working_globs match no file', spec), redo: false }

  // a post agent may still ask for another round, which replaces the answers
  const held = spec.agents.some(({ enabled, stages }) => enabled && stages.includes('post'))
  const deliver = createInOrder((outcome: TaskOutcome) => run.onOutcome(outcome, plans.length), { held })
  try {
    const outcomes = await runTasks(
      plans,
      { round, settings, deliver, onFailure: run.onFailure, queue: createLocalQueue() },
      context,
    )
    const post = await runChain(
      { ...call, stage: 'post', state, extra: { ...variableInput(target), ...postInput(outcomes, files) } },
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

/** A glob that leaves the workspace is shown where it is written. */
async function placeGlobErrors<T>(target: PromptTarget, list: () => T): Promise<T> {
  try {
    return list()
  } catch (error) {
    if (!isBatonError(error) || !isObject(error.cause) || !('globKey' in error.cause)) throw error
    const place = await target.placeOf([String(error.cause['globKey'])])
    throw rewordError(error, { place })
  }
}

function skipped(reason: string, { file, source }: PromptTarget['spec']): PromptOutcome {
  return { status: 'skipped', reason, hint: source === 'file' ? `Edit ${file}.` : `Say more in ${file}.` }
}

/** Files are listed once per round and settings, so every task of a round sees the same list. */
function createFileCache(context: RunContext, file: string): Round['filesOf'] {
  const promptFile = realPath(file)
  const lists = new Map<string, FileSet>()
  return (settings) => {
    const key = canonicalJson({ base_dir: settings.base_dir, globs: settings.globs as unknown as JsonObject })
    const known = lists.get(key)
    if (known !== undefined) return known
    const at = lists.size === 0 ? context : below(context, 'files', String(lists.size))
    const listed = listFileSet(settings, { context: at, promptFile })
    lists.set(key, listed)
    return listed
  }
}

interface Tasks {
  readonly round: Round
  readonly settings: Settings
  readonly deliver: InOrder<TaskOutcome>
  readonly onFailure: PromptRun['onFailure']
  readonly queue: TaskQueue
}

function runTasks(
  plans: readonly TaskPlan[],
  { round, settings, deliver, onFailure, queue }: Tasks,
  context: RunContext,
): Promise<TaskOutcome[]> {
  const limit = settings.input_concurrency
  emit(context, { type: 'tasks.planned', count: plans.length, concurrency: limit })
  const placeOfTask = (index: number): RunContext => below(context, 'task', String(index))
  const queued: QueuedWork<TaskPlan> = {
    queue,
    run: context.runId,
    taskOf: ({ input }, index) => ({ place: placeText(placeOfTask(index).at), input }),
    limit,
    signal: context.signal,
  }
  return mapQueued(plans, queued, async (plan, index, signal) => {
    const at = { ...placeOfTask(index), signal }
    const { label, count } = plan
    emit(at, { type: 'task.started', index, label, count })
    const part: Part<TaskOutcome> = {
      label,
      work: (inner) => settle(plan, { round, settings }, inner),
      inputs: taskInputs(plan, round, settings),
      isFinal: ({ status }) => status !== 'failed',
      failureIn: (outcome) => (outcome.status === 'failed' ? outcome.error : undefined),
    }
    const outcome = await runPart(part, at).catch((caught: unknown) => {
      at.signal.throwIfAborted()
      const failure = failedTask(plan, caught)
      announce(failure, at)
      onFailure?.(failure)
      throw failureOf(caught).error
    })
    announce(outcome, at)
    deliver.add(index, outcome)
    return outcome
  })
}

/**
 * What decides the work of a task: limits do not, nor sizes of files, which only count for a limit. `position` is not part of what a task is: a later run may have more of them.
 */
function taskInputs(
  { index, count, label, input, working }: TaskPlan,
  { target, state, given, redoCount }: Round,
  settings: Settings,
) {
  const deciding = withoutLimits(settings as unknown as JsonObject)
  const params = withoutLimits(state.params)
  const { prompts } = state
  const { spec, vars } = target
  const plan = { label, input, working: working.map(({ path }) => path) }
  const position = { index, count }
  return { plan, position, params, prompts, settings: deciding, agents: spec.agents, given, vars, redoCount }
}

/** The outcome of a task. @throws what ends the run */
async function settle(
  plan: TaskPlan,
  { round, settings }: Pick<Tasks, 'round' | 'settings'>,
  context: RunContext,
): Promise<TaskOutcome> {
  try {
    return await runTask(plan, round, context)
  } catch (caught) {
    context.signal.throwIfAborted()
    if (settings.allow_run_on_task_fail && !stopsRun(failureOf(caught).error)) return failedTask(plan, caught)
    throw caught
  }
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
  }
}

/** What `post` agents see of the tasks and files (DESIGN 5, spec/pro-coder.md 3 no. 6). */
function postInput(outcomes: readonly TaskOutcome[], files: FileSet): JsonObject {
  const refs = (list: FileSet['context']): Json => list.map(({ path, size }) => ({ path, size }))
  return {
    coder_responses: outcomes.map((outcome): JsonObject => {
      const { index, label, agentResult } = outcome
      const base = { index, label, agent_result: agentResult }
      switch (outcome.status) {
        case 'done':
          return { ...base, content: outcome.content, content_extruded: outcome.content, ...valueOf(outcome) }
        case 'skipped':
          return { ...base, skipped: outcome.reason }
        case 'failed':
          return { ...base, error: outcome.error.message }
      }
    }),
    coder_context_file_refs: refs(files.context),
    coder_knowledge_file_refs: refs(files.knowledge),
    coder_working_file_refs: refs((files.groups ?? []).flat()),
  }
}
