import { isBatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AgentRequest, CommandAgent, PromptInput, PromptRequest, ScriptRequest } from '../event/agent.ts'
import { below, type RunContext, withScope, withServices } from '../event/context.ts'
import { member as memberPlace, part, placeText } from '../event/place.ts'
import type { FileSet } from '../run/files.ts'
import type { TaskPlan } from '../run/plan.ts'
import type { PromptTarget } from '../run/prompt-target.ts'
import { type ChainState, variableInput } from '../stage/state.ts'
import { type OutlinedAnswer, strategyOf } from '../run/strategies.ts'
import { type Round, runTask } from '../run/task.ts'
import { type Ask, decidedBy, type Drift, figuresOf, grown, isOpen, joinAsks, planAsk } from './ask.ts'
import { followUpsOf } from './follow-ups.ts'
import { planChild, type Planner } from './planner.ts'
import { type PlannedAlone, planEnsemble } from './ensemble.ts'
import type { AnswerPlan, PartsPlan, SingleAnswerPlan } from './plan.ts'
import { planLeaf } from './script.ts'
import { type PlannedStage, planStage } from './stage.ts'
import { planTeam } from './team.ts'
import { planTools } from './tools.ts'
import { planWorkflow } from './workflow.ts'

export interface TaskCall {
  readonly target: PromptTarget
  readonly plan: TaskPlan
  /** After the `pre` chain, as written. */
  readonly state: ChainState
  readonly files: FileSet
  readonly given: PromptInput | undefined
  readonly drift: Drift
  /** How an iteration changes the instruction. */
  readonly promptOf?: Round['promptOf']
  /** The drift of later iterations. */
  readonly later?: (drift: Drift) => Drift
}

export interface PlannedTask {
  readonly before: PlannedStage
  readonly answer: AnswerPlan
  readonly after: PlannedStage
  /** The maximum length of its answer; null: no limit is known. */
  readonly answerTokens: number | null
  readonly inputTokens: number | null
  readonly problem: string | null
}

/**
 * One task. The request is determined by the code of real runs, with an executor that runs nothing.
 * @throws BatonError that would end the run, if nothing can still change it
 */
export async function planTask(call: TaskCall, planner: Planner, context: RunContext): Promise<PlannedTask> {
  const { target, plan, state, given } = call
  const { index, count, label } = plan
  const task = { ...variableInput(target), input: plan.input ?? given?.value ?? null, task: { index, count, label } }
  const chain = { target, state } as const
  const before = await planStage({ ...chain, stage: 'pre_task', extra: task, drift: call.drift }, planner, context)
  const { asked, inputTokens, problem } = await planQuestion({ ...call, drift: before.drift }, planner, context)
  const drift =
    asked.tokens === null
      ? decidedBy(before.drift, placeText([...context.scope.at, part('ask')]))
      : grown(before.drift, asked.tokens)
  const extra = { ...task, ai_response: { content: '' }, file_changes: [] }
  const after = await planStage({ ...chain, stage: 'post_task', extra, drift }, planner, context)
  return {
    before,
    answer: asked.answer,
    after: { ...after, drift: { ...after.drift, more: before.drift.more } },
    answerTokens: asked.tokens,
    inputTokens,
    problem,
  }
}

interface PlannedQuestion {
  readonly asked: { readonly answer: AnswerPlan; readonly tokens: number | null }
  readonly inputTokens: number | null
  readonly problem: string | null
}

async function planQuestion(call: TaskCall, planner: Planner, context: RunContext): Promise<PlannedQuestion> {
  const { workflow, ensemble } = call.target.settings
  if (workflow !== undefined) {
    return { asked: await planWorkflow({ ...call, workflow }, planner, context), inputTokens: null, problem: null }
  }
  if (ensemble !== undefined) {
    return planEnsemble({ ...call, ensemble, alone: planAlone }, planner, context)
  }
  const outlined = await strategyOf(call.target.settings)?.outline(call)
  return outlined === undefined ? planAlone(call, planner, context) : planParts(outlined, call, planner, context)
}

/** The answers of a strategy, one after the other: each may be part of the request of the next. */
async function planParts(
  outlined: readonly OutlinedAnswer[],
  call: TaskCall,
  planner: Planner,
  context: RunContext,
): Promise<PlannedQuestion> {
  const strategy = strategyOf(call.target.settings)?.key ?? ''
  const parts: PartsPlan['parts'][number][] = []
  let { drift } = call
  let first: PlannedAlone | undefined
  let last: number | null = 0
  for (const { name, target, state } of outlined) {
    const at = below(context, memberPlace(name))
    const planned = await planAlone({ ...call, target, state, drift }, planner, at)
    first ??= planned
    last = planned.asked.tokens
    parts.push({ name, answer: planned.asked.answer })
    drift = last === null ? decidedBy(drift, placeText(at.scope.at)) : grown(drift, last)
  }
  const { inputTokens = null, problem = null } = first ?? {}
  return { asked: { answer: { by: 'parts', strategy, parts }, tokens: last }, inputTokens, problem }
}

/** The answer of one agent or model. */
async function planAlone(call: TaskCall, planner: Planner, context: RunContext): Promise<PlannedAlone> {
  const { drift } = call
  const { request, problem } = await requestOf(call, planner, context)
  const answering = { ...call, request, drift: call.later?.(drift) ?? drift }
  const asked = await planAnswer(answering, planner, below(context, part('ask')))
  const isMain = request !== undefined && 'messages' in request
  return { asked, inputTokens: isMain ? figuresOf(request).input : null, problem }
}

/** The first request of the task without its chains, as a run would send it; undefined: none is sent. */
async function requestOf(
  { target, plan, state, files, given, drift, promptOf }: TaskCall,
  planner: Planner,
  context: RunContext,
) {
  const looking = planner.look(target.spec.workspace)
  const alone = { ...target, spec: { ...target.spec, agents: [] } }
  const round: Round = {
    target: alone,
    state,
    redoCount: 0,
    services: { findAgent: target.findAgent, checkParams: target.settingsFor },
    given,
    filesOf: async () => files,
    filesIn: async () => files,
    ...defined({ promptOf }),
  }
  try {
    const { effects, definitions } = context.services
    const alike = withServices(looking.context, { effects, ...defined({ definitions }) })
    await runTask(plan, round, withScope(alike, { at: context.scope.at, rights: context.scope.rights }))
  } catch (error) {
    if (!isBatonError(error) || !isOpen(drift)) throw error
    return { request: undefined, problem: error.message }
  }
  return { request: looking.taken()[0], problem: null }
}

interface Answering extends TaskCall {
  readonly request: AgentRequest | undefined
}

const unasked = { by: 'model', asks: [], tools: [], output_limit: 0, decided_by: [] } as const

async function planAnswer(call: Answering, planner: Planner, context: RunContext): Promise<PlannedAlone['asked']> {
  const { request, target, drift } = call
  if (request === undefined) return { answer: { ...unasked, decided_by: drift.by }, tokens: 0 }
  if ('messages' in request) {
    const leads = target.settings.delegate !== undefined
    const options = { drift, tries: planner.tries, followUps: followUpsOf(target), leads }
    const asks = await planAsk(request, options, planner.models)
    const { output } = figuresOf(request)
    const tools = await planTools(target.settings, await planner.serversOf(target.spec.file), context)
    const team = await planTeam(target, planner)
    const answer = {
      by: 'model',
      asks,
      tools,
      output_limit: output,
      decided_by: drift.by,
      ...defined({ team }),
    } as const
    return { answer, tokens: output }
  }
  const at = placeText(context.scope.at)
  const { name } = request.agent
  const step = { at, name, enabled: true, entry: {}, runs: 1, changes: ['the answer'], decided_by: drift.by }
  if (request.agent.kind === 'prompt') {
    const [given] = request.inputs as readonly PromptInput[]
    if (given === undefined) throw new Error('a prompt file that answers has an input')
    const { plan, answer } = await planChild(
      { agent: request.agent, given, options: request.options, drift },
      planner,
      context,
    )
    return { answer: { by: 'agent', step: { ...step, agent: plan, decides: [], asks: plan.asks } }, tokens: answer }
  }
  const { agent, options: given } = request as ScriptRequest | PromptRequest<CommandAgent>
  const inputs = request.kind === 'prompt' ? request.inputs.map(({ value }) => value) : request.inputs
  const options = { inherited: context.scope.options, given }
  const planned = await planLeaf({ agent, inputs, options, drift, at }, planner, context)
  const decides = ['the answer', ...planned.decides]
  return { answer: { by: 'agent', step: { ...step, agent: planned, decides, asks: planned.asks } }, tokens: null }
}

/** How all tasks are answered: by one agent or model, with the asks of all of them. */
export function answerOf(tasks: readonly PlannedTask[]): AnswerPlan {
  const [first] = tasks
  if (first === undefined) return unasked
  const { answer } = first
  // there is one task
  if (answer.by === 'workflow') return answer
  const answers = tasks.map((task) => task.answer)
  if (answer.by === 'parts') return joinParts(answer, answers)
  return answer.by === 'ensemble' ? joinEnsembles(answer, answers) : joinSingle(answer, answers)
}

type EnsemblePlan = AnswerPlan & { readonly by: 'ensemble' }

function joinEnsembles(first: EnsemblePlan, answers: readonly AnswerPlan[]): EnsemblePlan {
  const all = answers.flatMap((answer) => (answer.by === 'ensemble' ? [answer] : []))
  const members = first.members.map((member, index) => ({
    ...member,
    answer: joinSingle(
      member.answer,
      all.flatMap((one) => one.members[index]?.answer ?? []),
    ),
  }))
  const last = all.flatMap((one) => one.joined_by ?? [])
  return { ...first, members, joined_by: first.joined_by && joinSingle(first.joined_by, last) }
}

function joinParts(first: PartsPlan, answers: readonly AnswerPlan[]): PartsPlan {
  const all = answers.flatMap((answer) => (answer.by === 'parts' ? [answer] : []))
  const parts = first.parts.map(({ name, answer }, index) => ({
    name,
    answer: joinSingle(
      answer,
      all.flatMap((one) => one.parts[index]?.answer ?? []),
    ),
  }))
  return { ...first, parts }
}

function joinSingle(answer: SingleAnswerPlan, answers: readonly AnswerPlan[]): SingleAnswerPlan {
  if (answer.by === 'agent') {
    return { by: 'agent', step: { ...answer.step, runs: answers.length, asks: joinAsks(answers.flatMap(asksOf)) } }
  }
  // the agents that a model may start are not per task, so they are the same for all
  return { ...answer, asks: joinAsks(answers.flatMap((one) => (one.by === 'model' ? one.asks : asksOf(one)))) }
}

/** All asks for an answer. */
export function asksOf(answer: AnswerPlan): readonly Ask[] {
  switch (answer.by) {
    case 'model':
      return [...answer.asks, ...(answer.team?.asks ?? [])]
    case 'agent':
      return answer.step.asks
    case 'workflow':
      return answer.steps.flatMap(({ asks }) => asks)
    case 'parts':
      return answer.parts.flatMap((each) => asksOf(each.answer))
    case 'ensemble': {
      const { members, joined_by: last } = answer
      return [...members.map((member) => member.answer), ...(last === null ? [] : [last])].flatMap(asksOf)
    }
  }
}
