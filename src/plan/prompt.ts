import { displayPath, realPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import type { PromptInput } from '../event/agent.ts'
import { below, type RunContext } from '../event/context.ts'
import { placeText } from '../event/effects.ts'
import { placeGlobError } from './glob-place.ts'
import { type FileRef, type FileSet, listFileSet } from '../run/files.ts'
import { planTasks, type TaskPlan } from '../run/plan.ts'
import type { PromptTarget } from '../run/prompt-target.ts'
import { emptyInstruction } from '../run/task.ts'
import { variableInput } from '../run/variable-input.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import { answerOf, type PlannedTask, planTask } from './answer.ts'
import { type Ask, joinAsks } from './ask.ts'
import { decidedBy, type Drift, grown, isOpen } from './drift.ts'
import type { FileCount, PromptPlan, TasksPlan } from './plan.ts'
import type { Planner } from './planner.ts'
import { mergeStages, planStage, type StageCall } from './stage.ts'

export interface PromptCall {
  readonly target: PromptTarget
  /** What a caller gives a file that is run as an agent. */
  readonly given?: PromptInput
  /** `-i` values. */
  readonly inputs: readonly string[]
  /** Of what it is given. */
  readonly drift: Drift
}

export interface PlannedPrompt {
  readonly plan: PromptPlan
  /** What all its answers together have at most, in tokens; null: no limit is known. */
  readonly answer: number | null
}

/** A prompt file in the order in which it is run: `pre`, tasks with `pre_task`, ask, `post_task`, then `post` (DESIGN 2). */
export async function planPrompt(call: PromptCall, planner: Planner, context: RunContext): Promise<PlannedPrompt> {
  const { target } = call
  const { spec, settings } = target
  const looking = planner.look(spec.workspace)
  const own: RunContext = { ...context, effects: looking.context.effects }
  const state: ChainState = { params: spec.params, prompts: [spec.document.instruction] }
  const chain = { target, state } as const
  const pre = await planStage({ ...chain, stage: 'pre', extra: variableInput(target), drift: call.drift }, planner, own)

  const files = await placeGlobError(target, () =>
    listFileSet(settings, { context: own, promptFile: realPath(spec.file) }),
  )
  const plans = planTasks({ file: spec.file, inputs: call.inputs, groups: files.groups })
  const empty = instructionOf(state).trim() === ''
  // what an agent adds to an empty instruction decides whether there is anything to do
  const drift = empty && pre.drift !== call.drift ? decidedBy(pre.drift, ...pre.steps.map(({ at }) => at)) : pre.drift
  const isSkipped = (empty && !isOpen(drift)) || plans.length === 0
  const tasks: PlannedTask[] = []
  for (const plan of isSkipped ? [] : plans) {
    const one = { plan, state, files, given: call.given, drift }
    tasks.push(await planTask({ ...one, target }, planner, below(own, 'task', plans.length === 1 ? '0' : '*')))
  }
  const preTask = mergeStages(
    tasks.map(({ before }) => before),
    drift,
  )
  const postTask = mergeStages(
    tasks.map(({ after }) => after),
    preTask.drift,
  )
  const answer = answerOf(tasks)
  const post = isSkipped
    ? { steps: [], drift }
    : await planStage(postCall({ ...chain, plans, files, drift: postTask.drift, tasks }), planner, own)

  const steps = [...pre.steps, ...preTask.steps, ...postTask.steps, ...post.steps]
  const asks = joinAsks([...steps.flatMap((step) => step.asks), ...asksOf(answer)])
  return {
    answer: total(tasks.map((task) => task.answerTokens)),
    plan: {
      kind: 'prompt',
      file: spec.source === 'file' ? displayPath(spec.workspace, spec.file) : spec.file,
      at: placeText(context.at),
      files: {
        context: countOf(files.context),
        knowledge: countOf(files.knowledge),
        working: countOf((files.groups ?? []).flat()),
        structure: files.structure.length,
      },
      decided_by: drift.by,
      tasks: tasksOf(plans, tasks, call),
      stages: { pre: pre.steps, pre_task: preTask.steps, post_task: postTask.steps, post: post.steps },
      answer,
      write_mode: settings.write_mode,
      asks,
      skipped: isSkipped ? skipOf(empty, target) : null,
    },
  }
}

interface PostParts extends Omit<StageCall, 'stage' | 'extra'> {
  readonly plans: readonly TaskPlan[]
  readonly files: FileSet
  readonly tasks: readonly PlannedTask[]
}

/** The `post` chain sees the answers of all tasks. */
function postCall({ plans, files, tasks, drift, ...chain }: PostParts): StageCall {
  const answers = total(tasks.map(({ answerTokens }) => answerTokens))
  const refs = (list: readonly FileRef[]): Json => list.map(({ path, size }) => ({ path, size }))
  return {
    ...chain,
    stage: 'post',
    // where an answer has no known limit, the drift says so already
    drift: grown(drift, answers ?? 0),
    extra: {
      ...variableInput(chain.target),
      coder_responses: plans.map(({ index, label }) => ({ index, label, agent_result: null, content: '' })),
      coder_context_file_refs: refs(files.context),
      coder_knowledge_file_refs: refs(files.knowledge),
      coder_working_file_refs: refs((files.groups ?? []).flat()),
    },
  }
}

function asksOf(answer: PromptPlan['answer']): readonly Ask[] {
  return answer.by === 'model' ? answer.asks : answer.step.asks
}

function total(tokens: readonly (number | null)[]): number | null {
  return tokens.reduce<number | null>((sum, each) => (sum === null || each === null ? null : sum + each), 0)
}

function countOf(refs: readonly FileRef[]): FileCount {
  return { count: refs.length, bytes: refs.reduce((sum, { size }) => sum + size, 0) }
}

function tasksOf(plans: readonly TaskPlan[], tasks: readonly PlannedTask[], { target, inputs }: PromptCall): TasksPlan {
  const from = target.settings.globs.working.length > 0 ? 'working_globs' : inputs.length > 0 ? 'inputs' : 'file'
  return {
    from,
    list: plans.map(({ label, working, index }) => ({
      label,
      working: countOf(working),
      input_tokens: tasks[index]?.inputTokens ?? null,
      problem: tasks[index]?.problem ?? null,
    })),
  }
}

function skipOf(isEmpty: boolean, { spec: { file, source } }: PromptTarget): NonNullable<PromptPlan['skipped']> {
  return {
    reason: isEmpty ? emptyInstruction : 'working_globs match no file',
    hint: source === 'file' ? `Edit ${file}.` : `Say more in ${file}.`,
  }
}
