import { isBatonError } from '../../base/error.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { InputVariable } from '../../config/input-variables.ts'
import type { Settings } from '../../config/settings.ts'
import type { Workflow, WorkflowStep } from '../../settings/strategies/workflow.ts'
import { below, withScope, withServices } from '../../event/context.ts'
import { placeText, workflowStep } from '../../event/place.ts'
import { runMainStep } from './agents.ts'
import { dotText, mermaidText, workflowLines } from './drawing.ts'
import { conditionOf, graphOf, sinksOf, type StepNode } from './graph.ts'
import { instructionOf } from '../../stage/state.ts'
import {
  type Ask,
  decidedBy,
  type Drift,
  figuresOf,
  grown,
  insteadOf,
  isOpen,
  joinAsks,
  openAsk,
  planAsk,
} from '../../plan/ask.ts'
import { followUpsOf } from '../../plan/follow-ups.ts'
import type { AgentPlan, PromptPlan, ToolPlan } from '../../plan/plan.ts'
import { type AnswerPlanner, planChild, type Planner, type TaskCall, type PlanContext } from '../../plan/planner.ts'
import { planLeaf } from '../../plan/script.ts'
import { planTools } from '../../plan/tools.ts'

/** The steps are in topological order. */
export interface WorkflowPlan {
  readonly by: 'workflow'
  readonly concurrency: number
  readonly steps: readonly WorkflowStepPlan[]
}

/** A step of a workflow. */
export interface WorkflowStepPlan {
  readonly at: string
  readonly id: string
  readonly needs: readonly string[]
  /** `success`, `failure`, `always`, or a Lua expression. */
  readonly when: string
  readonly for_each: string | null
  /** Maximum number of items at the same time; null: as for steps. */
  readonly concurrency: number | null
  readonly on_error: 'fail_fast' | 'continue'
  /** It works in a git worktree; null: in the workspace. */
  readonly isolation: 'worktree' | null
  readonly fallback: readonly string[]
  /** Null: the main agent. */
  readonly agent: AgentPlan | PromptPlan | null
  /** Tools of the main agent, if it answers the step. */
  readonly tools: readonly ToolPlan[]
  /** Places that decide whether it is run, and with what. */
  readonly decided_by: readonly string[]
  readonly decides: readonly string[]
  /** For one item, if it has items. */
  readonly asks: readonly Ask[]
}

export const workflowPlanner: AnswerPlanner<WorkflowPlan> = {
  async plan(call, planner, context) {
    const { workflow } = call.target.settings
    if (workflow === undefined) throw new Error('a file with a workflow')
    return { asked: await planWorkflow({ ...call, workflow }, planner, context), inputTokens: null, problem: null }
  },
  // there is one task
  join: (first) => first,
  partsOf: ({ steps }) => steps.map((step) => ({ by: 'agent', step })),
  lines: workflowLines,
  draw: ({ steps }, language) => (language === 'dot' ? dotText(steps) : mermaidText(steps)),
}

interface WorkflowCall extends Pick<TaskCall, 'target' | 'state' | 'files' | 'drift'> {
  readonly workflow: Workflow
}

interface PlannedWorkflow {
  readonly answer: WorkflowPlan
  /** Maximum length of its answer, in tokens; null: no limit is known. */
  readonly tokens: number | null
}

/** What is known about a step that others need. */
interface Planned {
  readonly plan: WorkflowStepPlan
  readonly tokens: number | null
  readonly drift: Drift
  /** It only runs after a failure, so that as written it does not run. */
  readonly isSpare: boolean
}

/** The steps of a workflow, each with what those before it may have changed. Nothing is evaluated. */
async function planWorkflow(call: WorkflowCall, planner: Planner, context: PlanContext): Promise<PlannedWorkflow> {
  const { workflow, target } = call
  const graph = graphOf(workflow)
  const known = new Map<string, Planned>()
  for (const node of graph.nodes) {
    known.set(node.step.id, await planStep(node, { ...call, known }, planner, context))
  }
  const tokens = sinksOf(graph).map(({ id }) => known.get(id)?.tokens ?? null)
  return {
    answer: {
      by: 'workflow',
      concurrency: workflow.concurrency ?? target.settings.input_concurrency,
      steps: graph.nodes.flatMap(({ step }) => known.get(step.id)?.plan ?? []),
    },
    tokens: tokens.reduce<number | null>((sum, each) => (sum === null || each === null ? null : sum + each), 0),
  }
}

interface StepCall extends WorkflowCall {
  readonly known: ReadonlyMap<string, Planned>
}

async function planStep({ step }: StepNode, call: StepCall, planner: Planner, context: PlanContext): Promise<Planned> {
  const inner = below(context, workflowStep(step.id))
  const at = placeText(inner.scope.at)
  const needs = step.needs.flatMap((id) => call.known.get(id) ?? [])
  const before = driftOf(call.drift, needs)
  const isDecided = step.for_each !== undefined || conditionOf(step) !== undefined
  const drift = isDecided ? decidedBy(before, at) : before
  const isSpare =
    step.when.trim() === 'failure' || (step.when.trim() === 'success' && needs.some((need) => need.isSpare))
  const agents = await planAgents(step, { ...call, drift, at }, planner, inner)
  const asked = usesTexts(step) && needs.length > 0 ? agents.asks.map(openAsk) : agents.asks
  const open = step.for_each === undefined ? agents.tokens : null
  return {
    plan: {
      at,
      id: step.id,
      needs: step.needs,
      when: step.when,
      for_each: step.for_each ?? null,
      concurrency: step.concurrency ?? null,
      on_error: step.on_error,
      isolation: step.isolation === 'worktree' ? 'worktree' : null,
      fallback: step.fallback,
      agent: agents.plan,
      tools:
        step.agent === undefined
          ? await planTools(settingsOf(step, call), await planner.serversOf(call.target.spec.file), inner)
          : [],
      decided_by: before.by,
      decides: [
        ...(conditionOf(step) === undefined ? [] : ['whether it runs']),
        ...(step.for_each === undefined ? [] : ['how many items it has']),
        ...agents.decides,
      ],
      asks: joinAsks(isSpare ? asked.map(insteadOf) : asked),
    },
    tokens: open,
    drift: open === null ? decidedBy(drift, at) : drift,
    isSpare,
  }
}

/** How far the input of a step may differ: by the answers of all its needs. */
function driftOf(drift: Drift, needs: readonly Planned[]): Drift {
  return needs.reduce((sum, need) => grown(decidedBy(sum, ...need.drift.by), need.tokens ?? 0), drift)
}

/** A template may repeat an answer any number of times. */
function usesTexts({ input = '', instructions = '' }: WorkflowStep): boolean {
  return /\{\{[^}]*\bsteps\b/.test(input + instructions)
}

interface AgentsCall extends StepCall {
  readonly at: string
}

interface PlannedAgents {
  /** Null: the main agent. */
  readonly plan: AgentPlan | PromptPlan | null
  readonly asks: readonly Ask[]
  readonly decides: readonly string[]
  readonly tokens: number | null
}

async function planAgents(
  step: WorkflowStep,
  call: AgentsCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedAgents> {
  const own =
    step.agent === undefined
      ? await planMain(step, call, planner, context)
      : await planNamed({ name: step.agent, step }, call, planner, context)
  const fallbacks: Ask[] = []
  for (const name of step.fallback) {
    const { asks } = await planNamed({ name, step }, call, planner, context)
    fallbacks.push(...asks.map(insteadOf))
  }
  return { ...own, asks: [...own.asks, ...fallbacks] }
}

interface NamedStep {
  readonly name: string
  readonly step: WorkflowStep
}

async function planNamed(
  { name, step }: NamedStep,
  { target, drift, at }: AgentsCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedAgents> {
  const agent = await target.findAgent({ name })
  const { options } = step
  if (agent.kind === 'prompt') {
    const { spec } = await planner.loadChild(agent)
    const unknown = Object.fromEntries((spec.variables ?? []).map((variable) => [variable.name, anyValue(variable)]))
    const values: JsonObject = { ...unknown, ...target.vars }
    const given = { value: '', text: '', variables: { values, others: 'ignored' } } as const
    const { plan, answer } = await planChild({ agent, given, options, drift }, planner, context)
    return { plan, asks: plan.asks, decides: [], tokens: answer }
  }
  const layers = { inherited: context.scope.options, given: options }
  const plan = await planLeaf({ agent, inputs: [''], options: layers, drift, at }, planner, context)
  return { plan, asks: plan.asks, decides: ['its result', ...plan.decides], tokens: null }
}

/** A possible value of a variable, whose real value is known only when the step runs. */
function anyValue({ type, default: own, choices = [] }: InputVariable): Json {
  const [choice] = choices
  if (own !== undefined) return own
  switch (type) {
    case 'string':
      return choice ?? ''
    case 'number':
    case 'integer':
      return choice ?? 0
    case 'boolean':
      return choice ?? false
    case 'list':
      return []
    case 'table':
      return choice ?? {}
  }
}

/** The settings with which the main agent answers a step. */
function settingsOf({ options }: WorkflowStep, { target, state }: WorkflowCall): Settings {
  return target.settingsFor({ ...state.params, ...options })
}

/** The request, determined by the code of real runs with what is known of its input. */
async function planMain(
  step: WorkflowStep,
  call: AgentsCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedAgents> {
  const { id, instructions = '', options, needs } = step
  const { target, state, files, drift } = call
  const looking = planner.look(target.spec.workspace)
  const params = { ...state.params, ...options }
  const isFirst = needs.length === 0
  const mainCall = {
    settings: settingsOf(step, call),
    params,
    instructions,
    inputText: isFirst ? instructionOf(state) : '',
    stdin: isFirst ? target.stdin : undefined,
    files,
    label: id,
    output: undefined,
  }
  const nothing: PlannedAgents = { plan: null, asks: [], decides: [], tokens: null }
  try {
    const alike = withServices(looking.context, { effects: context.services.effects })
    await runMainStep(mainCall, target, withScope(alike, { at: context.scope.at, rights: context.scope.rights }))
  } catch (error) {
    if (!isBatonError(error) || !isOpen(drift)) throw error
    return nothing
  }
  const [request] = looking.taken()
  if (request === undefined || !('messages' in request)) return nothing
  const asks = await planAsk(request, { drift, tries: planner.tries, followUps: followUpsOf(target) }, planner.models)
  return { plan: null, asks, decides: [], tokens: figuresOf(request).output }
}
