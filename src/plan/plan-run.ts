import { join } from 'node:path'
import { isBatonError } from '../base/error.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import type { RunContext } from '../event/context.ts'
import type { MaskOptions } from '../journal/secrets.ts'
import { secretsOf } from '../model/secrets-of.ts'
import { type GivenInputs, readInputs, refuseBoth, workingGlobs } from '../run/inputs.ts'
import { placeModelError } from '../run/model-place.ts'
import { maxRedo } from '../run/rounds.ts'
import { type AgentTarget, loadTarget, type Target, type TargetOptions, warningsOf } from '../run/target.ts'
import type { PromptTarget } from '../run/prompt-target.ts'
import { joinAsks } from './ask.ts'
import { steady } from './drift.ts'
import { createModelPlanner, type ModelPlanner } from './models.ts'
import type { AgentPlan, Plan, PromptPlan } from './plan.ts'
import { createPlanner, type Planner } from './planner.ts'
import { planPrompt } from './prompt.ts'
import { planScript } from './script.ts'
import { decisionsOf, totalOf } from './total.ts'

export interface PlanOptions extends TargetOptions {
  readonly inputs: GivenInputs
  readonly signal: AbortSignal
}

export interface PlannedRun {
  readonly plan: Plan
  /** What the settings say is to be masked. */
  readonly secrets: MaskOptions
}

/**
 * What running the file with these options is going to do and may cost, as written (DESIGN 13). No script is run, nobody
 * is asked, nothing is written.
 * @throws BatonError for everything that would end the run before a model is asked
 */
export async function planRun({ inputs, signal, ...options }: PlanOptions): Promise<PlannedRun> {
  refuseBoth(inputs)
  const target = await loadWithFiles(options, inputs)
  const { settings } = target
  const notes = new Set<string>(warningsOf(target))
  const onNote = (note: string): void => void notes.add(note)
  const tableFile = join(options.builtInDir, 'models.toml')
  const models = createModelPlanner({ env: options.env, settings, tableFile, onNote })
  const planner = createPlanner({ options, planPrompt, models, tries: settings.retry.max_attempts, signal, onNote })
  const context: RunContext = {
    ...planner.look(target.workspace).context,
    options: inheritedOptions(target.agentSettings, target.configSettings),
    ...(target.kind === 'prompt' ? { mayWrite: settings.write_mode } : {}),
  }
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
  return { plan, secrets: secretsOf(settings, options.env) }
}

/** `-f` is `working_globs` of a prompt file, and says where they start only once its `base_dir` is known. */
async function loadWithFiles(options: TargetOptions, inputs: GivenInputs): Promise<Target> {
  const target = await loadTarget(options)
  if (target.kind === 'agent' || inputs.globs.length === 0) return target
  const overrides = [...options.flags.overrides, workingGlobs(inputs, target.settings.base_dir)]
  return loadTarget({ ...options, flags: { ...options.flags, overrides } })
}

interface Planning {
  readonly target: Target
  readonly inputs: GivenInputs
}

async function planTarget(
  { target, inputs }: Planning,
  planner: Planner,
  context: RunContext,
): Promise<PromptPlan | AgentPlan> {
  if (target.kind === 'agent') return planAgent(target, { inputs, planner, context })
  await checkModels(target, planner.models)
  const { plan } = await planPrompt({ target, inputs: inputs.texts, drift: steady }, planner, context)
  return plan
}

interface AgentPlanning {
  readonly inputs: GivenInputs
  readonly planner: Planner
  readonly context: RunContext
}

/** Only an agent that is run by itself can ask to be run again. */
async function planAgent(
  { agent, flagOptions }: AgentTarget,
  { inputs, planner, context }: AgentPlanning,
): Promise<AgentPlan> {
  const options = { inherited: context.options, given: flagOptions }
  const call = { agent, inputs: readInputs(inputs, context), options, drift: steady, at: 'main' }
  const plan = await planScript(call, planner, context)
  const { mayRedo } = planner.factsOf(agent).reach
  return mayRedo ? { ...plan, decides: [...plan.decides, redo] } : plan
}

const redo = 'whether it is run again'

/** As a run does before anything starts: a name that nobody takes ends it. */
async function checkModels({ settings, answerAgent, spec }: PromptTarget, models: ModelPlanner): Promise<void> {
  if (answerAgent !== undefined || (spec.document.instruction.trim() === '' && spec.agents.length === 0)) return
  const named = settings.model === undefined ? [] : [[settings.model, ['model']] as const]
  const fallbacks = settings.fallback_models.map((name, index) => [name, ['fallback_models', index]] as const)
  for (const [name, path] of [...named, ...fallbacks]) {
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
