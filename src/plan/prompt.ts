import { displayPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import type { PromptInput } from '../event/agent.ts'
import { below, narrow, withServices } from '../event/context.ts'
import { item, placeText } from '../event/place.ts'
import { fileInputs, type FileRef, type FileSet, listFileSet, placeGlobErrors } from '../run/files.ts'
import { planTasks, type TaskPlan } from '../run/plan.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { type ChainState, instructionOf, variableInput } from '../stage/state.ts'
import { skipOf } from '../run/prompt-run.ts'
import { iterationOf } from '../strategies/iterate/load.ts'
import { isWithoutWork } from '../run/task.ts'
import { answerOf, asksOf, type PlannedTask, planTask } from './answer.ts'
import { type Ask, decidedBy, type Drift, grown, isOpen, joinAsks } from './ask.ts'
import { eachTime, firstPrompt, type Iterations, iterationsOf, laterDrift, planSummary } from './iterations.ts'
import type { AnswerPlan, FileCount, PromptPlan, StepPlan, TasksPlan } from './plan.ts'
import type { PlanContext, Planner } from './planner.ts'
import { mergeStages, planStage, type StageCall } from './stage.ts'
import { limitsOfTools } from '../load/limits.ts'

export interface PromptCall {
  readonly target: PromptTarget
  readonly given?: PromptInput
  /** `-i` values. */
  readonly inputs: readonly string[]
  readonly drift: Drift
}

export interface PlannedPrompt {
  readonly plan: PromptPlan
  /** Maximum length of all its answers together, in tokens; null: no limit is known. */
  readonly answer: number | null
}

/** A prompt file in the order in which it is run: `pre`, tasks with `pre_task`, ask, `post_task`, then `post`. */
export async function planPrompt(call: PromptCall, planner: Planner, context: PlanContext): Promise<PlannedPrompt> {
  const { target } = call
  const { spec, settings } = target
  const looking = planner.look(spec.workspace)
  const alike = withServices(context, { effects: looking.context.services.effects })
  // its agents have at most its tools
  const own = narrow(alike, limitsOfTools(settings))
  const state: ChainState = { params: spec.params, prompts: [spec.document.instruction] }
  const chain = { target, state } as const
  const pre = await planStage({ ...chain, stage: 'pre', extra: variableInput(target), drift: call.drift }, planner, own)

  const files = await placeGlobErrors(target, () => listFileSet(settings, { context: own, spec }))
  const plans = planTasks({
    file: spec.file,
    inputs: call.inputs,
    groups: files.groups,
    strategy: target.strategy?.row,
  })
  const empty = isWithoutWork(state, target)
  // what an agent adds to an empty instruction decides whether there is anything to do
  const drift = empty && pre.drift !== call.drift ? decidedBy(pre.drift, ...pre.steps.map(({ at }) => at)) : pre.drift
  const isSkipped = (empty && !isOpen(drift)) || plans.length === 0
  const iteration = target.strategy?.row.key === 'iterate' ? iterationOf(target) : undefined
  const around = iteration && {
    promptOf: firstPrompt(iteration),
    later: (each: Drift) => laterDrift(each, iteration, instructionOf(state)),
  }
  const tasks: PlannedTask[] = []
  for (const plan of isSkipped ? [] : plans) {
    const one = { plan, state, files, given: call.given, drift, ...around }
    tasks.push(
      await planTask({ ...one, target }, planner, below(own, item('task'), item(plans.length === 1 ? 0 : '*'))),
    )
  }
  const preTask = mergeStages(
    tasks.map(({ before }) => before),
    drift,
  )
  const postTask = mergeStages(
    tasks.map(({ after }) => after),
    preTask.drift,
  )
  const answered = answerOf(tasks)
  const times = iteration && iterationsOf(iteration)
  const again = (asks: readonly Ask[]): readonly Ask[] => (times === undefined ? asks : eachTime(asks, times))
  const answer = times === undefined ? answered : repeatedAnswer(answered, times)
  const answerTokens = total(tasks.map((task) => task.answerTokens))
  const called = { settings, instruction: instructionOf(state), drift, answers: answerTokens ?? 0 }
  const summary = iteration && !isSkipped ? await planSummary(iteration, called, planner, own) : undefined
  const summaries = summary && { ...summary, asks: again(summary.asks) }
  const post = isSkipped
    ? { steps: [], drift }
    : await planStage(postCall({ ...chain, plans, files, drift: postTask.drift, tasks }), planner, own)

  const repeated = ({ steps }: { readonly steps: readonly StepPlan[] }): readonly StepPlan[] =>
    steps.map((step) => ({ ...step, asks: again(step.asks) }))
  const stages = { pre: pre.steps, pre_task: repeated(preTask), post_task: repeated(postTask), post: post.steps }
  const asks = joinAsks([
    ...Object.values(stages).flatMap((steps) => steps.flatMap((step) => step.asks)),
    ...(summaries?.asks ?? []),
    ...asksOf(answer),
  ])
  return {
    answer: answerTokens,
    plan: {
      kind: 'prompt',
      file: spec.source === 'file' ? displayPath(spec.workspace, spec.file) : spec.document.file,
      at: placeText(context.scope.at),
      files: {
        context: countOf(files.context),
        knowledge: countOf(files.knowledge),
        working: countOf((files.groups ?? []).flat()),
        structure: files.structure.length,
        ...defined({ resources: settings.context_resources }),
      },
      decided_by: drift.by,
      tasks: tasksOf(plans, tasks, call),
      ...defined({ iterations: times, summaries }),
      stages,
      answer,
      write_mode: settings.write_mode !== false,
      isolation: settings.isolation === 'worktree' ? 'worktree' : null,
      gate: settings.gate ?? null,
      asks,
      skipped: isSkipped ? skipOf(empty ? 'no instruction' : 'no working files', spec) : null,
    },
  }
}

/** What other strategies answer is not iterated. */
function repeatedAnswer(answer: AnswerPlan, times: Iterations): AnswerPlan {
  switch (answer.by) {
    case 'model':
      return { ...answer, asks: eachTime(answer.asks, times) }
    case 'agent':
      return { ...answer, step: { ...answer.step, asks: eachTime(answer.step.asks, times) } }
    case 'workflow':
    case 'ensemble':
    case 'parts':
      return answer
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
  return {
    ...chain,
    stage: 'post',
    // if an answer has no known limit, the drift already includes that
    drift: grown(drift, answers ?? 0),
    extra: {
      ...variableInput(chain.target),
      coder_responses: plans.map(({ index, label }) => ({ index, label, agent_result: null, content: '' })),
      ...fileInputs(files),
    },
  }
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
