import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { sandboxMode } from '../config/settings.ts'
import { below, narrow, withScope, withServices } from '../event/context.ts'
import type { MaskOptions } from '../journal/secrets.ts'
import { secretsOf } from '../model/choice.ts'
import { pluginsOf } from '../load/check-mode.ts'
import { maxRedo } from '../run/execute.ts'
import { type InputOptions, readInputs } from '../load/inputs.ts'
import { serversOfAgent } from '../load/pack-servers.ts'
import { namedModels, placeModelError } from '../load/model-place.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TargetOptions } from '../load/options.ts'
import { loadTargetFor, mayAskModel, type Target, warningsOf } from '../load/target.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import {
  answerEachTime,
  answerOf,
  asksOf,
  isSingle,
  partsOf,
  type PlannedTask,
  planSummary,
  planTask,
} from './answer.ts'
import { type Ask, decidedBy, eachTime, grown, isOpen, joinAsks, type Range, steady, sumOf } from './ask.ts'
import { createModelPlanner, type ModelPlanner } from './models.ts'
import type { AgentPlan, Decision, FileCount, Plan, PromptPlan, StepPlan, TasksPlan, Total } from './plan.ts'
import {
  createPlanner,
  type PlannedPrompt,
  type Planner,
  type PlanTargetOptions,
  type PromptCall,
  type PlanContext,
} from './planner.ts'
import { planScript } from './script.ts'
import { displayPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import { item, placeText } from '../event/place.ts'
import { fileInputs, type FileRef, type FileSet, listFileSet, placeGlobErrors } from '../run/files.ts'
import { planTasks, type TaskPlan } from '../run/plan.ts'
import { type ChainState, instructionOf, variableInput } from '../stage/state.ts'
import { skipOf } from '../run/prompt-run.ts'
import { isWithoutWork } from '../run/task.ts'
import { mergeStages, planStage, type StageCall } from './stage.ts'
import { limitsOfTools } from '../load/limits.ts'

interface PlanOptions extends PlanTargetOptions {
  readonly inputs: InputOptions
  readonly signal: AbortSignal
}

interface PlannedRun {
  readonly plan: Plan
  readonly secrets: MaskOptions
}

/**
 * What running the file with these options would do and may cost, as written. No script is run, no model is called,
 * nothing is written.
 * @throws BatonError for everything that would end the run before the first model call
 */
export async function planRun({ inputs, signal, ...options }: PlanOptions): Promise<PlannedRun> {
  const target = await loadTargetFor(inputs, options)
  const { settings } = target
  const notes = new Set<string>(await warningsOf(target))
  const onNote = (note: string): void => void notes.add(note)
  const tableFile = join(options.builtInDir, 'models.toml')
  const models = createModelPlanner({ env: options.env, home: options.home, settings, tableFile, onNote })
  const planner = await createPlanner({
    options,
    planPrompt,
    models,
    tries: settings.retry.max_attempts,
    signal,
    onNote,
    plugins: await pluginsOf(settings),
    serversOf: (file) => serversOfAgent(file, target, options),
  })
  const looking = withServices(planner.look(target.workspace).context, {
    definitions: async () => (await target.definitions()).byName,
  })
  const inherited = inheritedOptions(target.agentSettings, target.configSettings)
  const write = target.kind !== 'prompt' || target.settings.write_mode !== false
  const narrowed = narrow(withScope(looking, { options: inherited }), {
    write,
    rules: toolRules(writtenRules(settings)),
  })
  const sandbox = { ...settings.sandbox, mode: sandboxMode(settings) }
  const context = withScope(narrowed, { rights: { ...narrowed.scope.rights, sandbox } })
  if (sandbox.scripts) await noteBoxOfScripts(context, { env: options.env, onNote })
  const planned = await planTarget({ target, inputs }, planner, context)
  const asks = joinAsks(planned.asks)
  const open = decisionsOf(planned, 'main', planner)
  const total = totalOf(asks, open)
  const { usd, unpriced } = settings.budget
  if (usd !== undefined && unpriced === 'deny') {
    for (const model of total.unpriced) onNote(`no price is known for ${model}: budget.usd refuses it`)
  }
  const plan: Plan = {
    schema: 1,
    type: 'plan',
    file: options.file,
    target: planned,
    limits: limitsOf(target, planned),
    asks,
    total,
    open,
    notes: [...notes],
  }
  return { plan, secrets: await secretsOf(settings, options.env) }
}

async function noteBoxOfScripts(
  { scope }: PlanContext,
  { env, onNote }: Pick<TargetOptions, 'env'> & Pick<Planner, 'onNote'>,
): Promise<void> {
  const { boxProblem } = await import('../tool/sandbox/needs-box.ts')
  const problem = await boxProblem({ scope, env })
  if (problem !== undefined) onNote(problem.message)
}

async function planTarget(
  { target, inputs }: { readonly target: Target; readonly inputs: InputOptions },
  planner: Planner,
  context: PlanContext,
): Promise<PromptPlan | AgentPlan> {
  if (target.kind === 'prompt') {
    await checkModels(target, planner.models)
    return (await planPrompt({ target, inputs: inputs.texts, drift: steady }, planner, context)).plan
  }
  const { agent, flagOptions } = target
  const options = { inherited: context.scope.options, given: flagOptions }
  const call = { agent, inputs: await readInputs(inputs, context), options, drift: steady, at: 'main' }
  const once = await planScript(call, planner, context)
  const repeating = planner.strategies.find(({ key }) => target.settings[key] !== undefined)
  const times = (await repeating?.outlineRepeated?.())?.timesOf(target.settings)
  const plan = times === undefined ? once : { ...once, iterations: times, asks: eachTime(once.asks, times) }
  // only an agent that is the target of the run can ask to be run again
  return planner.factsOf(agent).reach.mayRedo ? { ...plan, decides: [...plan.decides, redo] } : plan
}

const redo = 'whether it is run again'

/** As a run does before anything starts: a name that does not resolve ends it. */
async function checkModels(target: PromptTarget, models: ModelPlanner): Promise<void> {
  const { settings, spec } = target
  if (!mayAskModel(target)) return
  for (const { name, path } of namedModels(settings)) {
    try {
      await models.choose(name)
    } catch (error) {
      if (!isBatonError(error)) throw error
      throw await placeModelError(error, path, spec)
    }
  }
}

function limitsOf({ settings }: Target, planned: PromptPlan | AgentPlan): Plan['limits'] {
  const { budget, retry, input_concurrency, max_files_size_kb } = settings
  const { unpriced: _, ...limits } = budget
  const mayRedo =
    planned.kind === 'prompt'
      ? planned.stages.post.some(({ decides }) => decides.length > 0)
      : planned.decides.includes(redo)
  return {
    budget: limits,
    max_attempts: retry.max_attempts,
    input_concurrency,
    max_files_size_kb,
    redo: mayRedo ? maxRedo : 0,
  }
}

/** What is decided only during the run, in the order in which it is reached; each place once. */
function decisionsOf(target: PromptPlan | AgentPlan, at: string, planner: Planner): readonly Decision[] {
  if (target.kind !== 'prompt') return decision(at, target.decides)
  const { pre, pre_task: preTask, post_task: postTask, post } = target.stages
  const answering = partsOf(target.answer, planner).flatMap((part) => (part.by === 'agent' ? [part.step] : []))
  const summaries = target.summaries === undefined ? [] : [target.summaries]
  return [...pre, ...preTask, ...answering, ...postTask, ...summaries, ...post].flatMap((step) => [
    ...decision(step.at, step.decides),
    ...(step.agent?.kind === 'prompt' ? decisionsOf(step.agent, step.at, planner) : []),
  ])
}

function decision(by: string, what: readonly string[]): readonly Decision[] {
  return what.length === 0 ? [] : [{ by, what }]
}

/** The sum of all asks. While something is undecided, anything may be added, so that there is no maximum. */
function totalOf(asks: readonly Ask[], open: readonly Decision[]): Total {
  const sum = (ranges: readonly Range[]): Range => {
    const known = sumOf(ranges)
    return open.length === 0 ? known : { ...known, at_most: null }
  }
  return {
    requests: sum(asks.map(({ requests }) => requests)),
    input_tokens: sum(asks.map((ask) => ask.input_tokens)),
    output_tokens: sum(asks.map((ask) => ask.output_tokens)),
    usd: sum(asks.flatMap(({ usd }) => usd ?? [])),
    ...(asks.some(({ batch_usd: usd }) => usd !== undefined)
      ? { batch_usd: sum(asks.flatMap(({ usd, batch_usd: half }) => half ?? usd ?? [])) }
      : {}),
    unpriced: asks.filter((ask) => ask.usd === null).map(({ model }) => model),
  }
}

/** A prompt file in the order in which it is run: `pre`, tasks with `pre_task`, ask, `post_task`, then `post`. */
async function planPrompt(call: PromptCall, planner: Planner, context: PlanContext): Promise<PlannedPrompt> {
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
  const row = planner.strategies.find(({ key }) => key === target.strategy?.row.key)
  const repetition = (await row?.outlineRepeated?.())?.ofPrompt(target)
  const around = repetition && {
    promptOf: repetition.promptOf,
    laterTokens: repetition.laterTokens(instructionOf(state)),
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
  const answered = answerOf(tasks, planner)
  const times = repetition?.times
  const again = (asks: readonly Ask[]): readonly Ask[] => (times === undefined ? asks : eachTime(asks, times))
  const answer = times !== undefined && isSingle(answered) ? answerEachTime(answered, times) : answered
  const answerTokens = total(tasks.map((task) => task.answerTokens))
  const called = { settings, instruction: instructionOf(state), answers: answerTokens ?? 0 }
  const outlined = isSkipped ? undefined : repetition?.summary(called)
  const summary = outlined && (await planSummary(outlined, { target, drift }, planner, own))
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
    ...asksOf(answer, planner),
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
