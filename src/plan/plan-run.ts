import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { sandboxMode } from '../config/settings.ts'
import { narrow, withScope, withServices } from '../event/context.ts'
import type { MaskOptions } from '../journal/secrets.ts'
import { secretsOf } from '../model/choice.ts'
import { pluginsOf } from '../load/check-mode.ts'
import { maxRedo } from '../run/execute.ts'
import { type GivenInputs, readInputs, textInputs } from '../load/inputs.ts'
import { serversOfAgent } from '../load/pack-servers.ts'
import { namedModels, placeModelError } from '../load/model-place.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TargetOptions } from '../load/options.ts'
import { loadTargetFor, mayAskModel, type Target, warningsOf } from '../load/target.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import { type Ask, joinAsks, type Range, steady, sumOf } from './ask.ts'
import { createModelPlanner, type ModelPlanner } from './models.ts'
import { eachTime, iterationsOf } from './iterations.ts'
import type { AgentPlan, Decision, Plan, PromptPlan, StepPlan, Total } from './plan.ts'
import { createPlanner, type PlanContext, type Planner, type PlanTargetOptions } from './planner.ts'
import { planPrompt } from './prompt.ts'
import { planScript } from './script.ts'

interface PlanOptions extends PlanTargetOptions {
  readonly inputs: GivenInputs
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
  const models = createModelPlanner({ env: options.env, settings, tableFile, onNote })
  const planner = createPlanner({
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
  const open = decisionsOf(planned, 'main')
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
  { target, inputs }: { readonly target: Target; readonly inputs: GivenInputs },
  planner: Planner,
  context: PlanContext,
): Promise<PromptPlan | AgentPlan> {
  if (target.kind === 'prompt') {
    await checkModels(target, planner.models)
    return (await planPrompt({ target, inputs: textInputs(inputs), drift: steady }, planner, context)).plan
  }
  const { agent, flagOptions } = target
  const options = { inherited: context.scope.options, given: flagOptions }
  const call = { agent, inputs: await readInputs(inputs, context), options, drift: steady, at: 'main' }
  const once = await planScript(call, planner, context)
  const { iterate } = target.settings
  const times = iterate && iterationsOf({ settings: iterate })
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
function decisionsOf(target: PromptPlan | AgentPlan, at: string): readonly Decision[] {
  if (target.kind !== 'prompt') return decision(at, target.decides)
  const { pre, pre_task: preTask, post_task: postTask, post } = target.stages
  return [
    ...[...pre, ...preTask].flatMap(stepDecisions),
    ...answerSteps(target.answer).flatMap(stepDecisions),
    ...postTask.flatMap(stepDecisions),
    ...(target.summaries === undefined ? [] : stepDecisions(target.summaries)),
    ...post.flatMap(stepDecisions),
  ]
}

function answerSteps(answer: PromptPlan['answer']): readonly DecidingStep[] {
  switch (answer.by) {
    case 'model':
      return []
    case 'agent':
      return [answer.step]
    case 'workflow':
      return answer.steps
    case 'ensemble':
      return [...answer.members.map((member) => member.answer), answer.joined_by].flatMap((one) =>
        one === null ? [] : answerSteps(one),
      )
    case 'parts':
      return answer.parts.flatMap((each) => answerSteps(each.answer))
  }
}

type DecidingStep = Pick<StepPlan, 'at' | 'decides' | 'agent'>

function stepDecisions({ at, decides, agent }: DecidingStep): readonly Decision[] {
  return [...decision(at, decides), ...(agent?.kind === 'prompt' ? decisionsOf(agent, at) : [])]
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
    unpriced: asks.filter((ask) => ask.usd === null).map(({ model }) => model),
  }
}
