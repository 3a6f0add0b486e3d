import { defined } from '../../base/json.ts'
import type { WorkflowStep } from '../../settings/strategies/workflow.ts'
import { workflowStep } from '../../event/place.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { asksOfPart } from '../../plan/answer.ts'
import { type Ask, joinAsks } from '../../plan/ask.ts'
import type { AgentPlan, PromptPlan, TeamPlan, ToolPlan } from '../../plan/plan.ts'
import type { AnswerShape, PlannedPart, PlannedQuestion } from '../../plan/planner.ts'
import type { OutlinedAnswer, OutlinedAsk, OutlinedTask } from '../../run/strategy.ts'
import { instructionOf } from '../../stage/state.ts'
import { runMainStep, runStepAgent } from './agents.ts'
import { dotText, mermaidText, workflowLines } from './drawing.ts'
import { answeringStep, conditionOf, graphOf, sinksOf } from './graph.ts'

/** The steps, each after those it needs. */
export async function outlineOf(task: OutlinedTask): Promise<readonly OutlinedAnswer[]> {
  const { workflow } = task.settings
  if (workflow === undefined) throw new Error('a file with a workflow')
  const graph = graphOf(workflow)
  const answering = answeringStep(graph)
  return Promise.all(graph.nodes.map(({ step }) => outlineStep(step, step.id === answering, task)))
}

/** `isLast`: what the step answers is the answer of the file, and must match its `[output]`. */
async function outlineStep(step: WorkflowStep, isLast: boolean, task: OutlinedTask): Promise<OutlinedAnswer> {
  const { id, needs, agent, fallback } = step
  const { state } = task
  const target = { ...task.target, output: isLast ? task.target.output : undefined }
  const params = { ...state.params, ...step.options }
  // the settings with which the main agent answers the step
  const own = agent === undefined ? { ...target, settings: target.settingsFor(params) } : target
  const first = agent === undefined ? askMain(step, own, task) : await askAgent(agent, step, task)
  return {
    name: id,
    at: workflowStep(id),
    target: own,
    state: { params, prompts: [step.instructions ?? ''] },
    needs,
    when: conditionOf(step) === undefined ? (step.when.trim() as 'success' | 'failure' | 'always') : 'decided',
    isForEach: step.for_each !== undefined,
    ...timesOf(step),
    repeatsAnswers: usesTexts(step),
    asks: [first, ...(await Promise.all(fallback.map((name) => askAgent(name, step, task))))],
  }
}

/** Each agent that fails is tried again. */
function timesOf({ retries = 0 }: WorkflowStep): Pick<OutlinedAnswer, 'times'> {
  return retries === 0 ? {} : { times: { at_least: 1, as_written: 1, at_most: retries + 1 } }
}

/** A template may repeat an answer any number of times. */
function usesTexts({ input = '', instructions = '' }: WorkflowStep): boolean {
  return /\{\{[^}]*\bsteps\b/.test(input + instructions)
}

/** The main agent, with what is known of its input. */
function askMain(step: WorkflowStep, own: PromptTarget, { target, state, files }: OutlinedTask): OutlinedAsk {
  const { id, instructions = '', options, needs } = step
  const isFirst = needs.length === 0
  const call = {
    settings: own.settings,
    params: { ...state.params, ...options },
    instructions,
    inputText: isFirst ? instructionOf(state) : '',
    stdin: isFirst ? target.stdin : undefined,
    files,
    label: id,
    output: own.output,
  }
  return { ask: (context) => runMainStep(call, target, context), decides: [] }
}

/** An agent, whose input is known only when the step runs. */
async function askAgent(name: string, { options }: WorkflowStep, { target }: OutlinedTask): Promise<OutlinedAsk> {
  const agent = await target.findAgent({ name })
  const { vars: input = null, stdin } = target
  const request = { text: '', instruction: '', params: {}, input, stdin }
  const call = { agent, options, given: { value: '', text: '' }, request, target }
  return { ask: (context) => runStepAgent(call, context), decides: ['its result'], hasOpenVariables: true }
}

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
  /** How often each of its agents is tried again; omitted: not at all. */
  readonly retries?: number
  /** Null: the main agent. */
  readonly agent: AgentPlan | PromptPlan | null
  /** Tools of the main agent, if it answers the step. */
  readonly tools: readonly ToolPlan[]
  /** The tools that its programs can call; omitted: its mode has no programs. */
  readonly functions?: readonly ToolPlan[]
  /** The agents that the model of the main agent can start; omitted: none. */
  readonly team?: TeamPlan
  /** Places that decide whether it is run, and with what. */
  readonly decided_by: readonly string[]
  readonly decides: readonly string[]
  /** For one item, if it has items. */
  readonly asks: readonly Ask[]
}

export const workflowShape: AnswerShape<WorkflowPlan> = {
  of: planOf,
  // there is one task
  join: (first) => first,
  partsOf: ({ steps }) => steps.map((step) => ({ by: 'agent', step })),
  lines: workflowLines,
  draw: ({ steps }, language) => (language === 'dot' ? dotText(steps) : mermaidText(steps)),
}

function planOf(parts: readonly PlannedPart[], { settings }: PromptTarget): PlannedQuestion<WorkflowPlan> {
  const { workflow } = settings
  if (workflow === undefined) throw new Error('a file with a workflow')
  const graph = graphOf(workflow)
  const planned = new Map(parts.map((one) => [one.name, one]))
  const steps = graph.nodes.flatMap(({ step }) => {
    const known = planned.get(step.id)
    return known === undefined ? [] : [stepPlan(step, known)]
  })
  const tokens = sinksOf(graph).map(({ id }) => planned.get(id)?.tokens ?? null)
  const answer = { by: 'workflow', concurrency: workflow.concurrency ?? settings.input_concurrency, steps } as const
  const sum = tokens.reduce<number | null>((all, each) => (all === null || each === null ? null : all + each), 0)
  return { asked: { answer, tokens: sum }, inputTokens: null, problem: null }
}

function stepPlan(step: WorkflowStep, { at, answer, decidedBy }: PlannedPart): WorkflowStepPlan {
  return {
    at,
    id: step.id,
    needs: step.needs,
    when: step.when,
    for_each: step.for_each ?? null,
    concurrency: step.concurrency ?? null,
    on_error: step.on_error,
    isolation: step.isolation === 'worktree' ? 'worktree' : null,
    fallback: step.fallback,
    ...defined({ retries: step.retries }),
    agent: answer.by === 'agent' ? answer.step.agent : null,
    tools: answer.by === 'agent' ? [] : answer.tools,
    ...(answer.by === 'agent' ? {} : defined({ functions: answer.functions, team: answer.team })),
    decided_by: decidedBy,
    decides: [
      ...(conditionOf(step) === undefined ? [] : ['whether it runs']),
      ...(step.for_each === undefined ? [] : ['how many items it has']),
      ...(answer.by === 'agent' ? answer.step.decides : []),
    ],
    asks: joinAsks(asksOfPart(answer)),
  }
}
