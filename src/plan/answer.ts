import { isBatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AgentRequest, CommandAgent, PromptInput, PromptRequest, ScriptRequest } from '../event/agent.ts'
import { below, withScope, withServices } from '../event/context.ts'
import { member as memberPlace, part, placeText } from '../event/place.ts'
import type { FileSet } from '../run/files.ts'
import type { TaskPlan } from '../run/plan.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { type ChainState, variableInput } from '../stage/state.ts'
import { runTask } from '../run/task.ts'
import { type Ask, decidedBy, type Drift, figuresOf, grown, isOpen, joinAsks, planAsk, type Range } from './ask.ts'
import { followUpsOf } from './follow-ups.ts'
import { planChild, type PlanContext, type Planner } from './planner.ts'
import type { AnswerPlan, MemberPlan, RolePlan, SingleAnswerPlan, TeamPlan, PartsPlan } from './plan.ts'
import { planLeaf } from './script.ts'
import { type PlannedStage, planStage } from './stage.ts'
import { planTools } from './tools.ts'
import { planWorkflow } from './workflow.ts'
import { answeringStrategy, type OutlinedAnswer, type Round } from '../run/strategy.ts'
import type { Ensemble } from '../config/ensemble.ts'
import { aggregateTarget, prepareMembers, withoutEnsemble } from '../strategies/ensemble/member.ts'
import { judgeQuestion, synthesisQuestion, viewsOf } from '../strategies/ensemble/aggregate.ts'
import { nothingSpent } from '../event/meter.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import { keptTools } from '../load/roles.ts'

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
export async function planTask(call: TaskCall, planner: Planner, context: PlanContext): Promise<PlannedTask> {
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

async function planQuestion(call: TaskCall, planner: Planner, context: PlanContext): Promise<PlannedQuestion> {
  const { workflow, ensemble } = call.target.settings
  if (workflow !== undefined) {
    return { asked: await planWorkflow({ ...call, workflow }, planner, context), inputTokens: null, problem: null }
  }
  if (ensemble !== undefined) {
    return planEnsemble({ ...call, ensemble, alone: planAlone }, planner, context)
  }
  const { settings } = call.target
  const strategy = answeringStrategy(planner.strategies, settings)
  if (strategy?.outline === undefined) return planAlone(call, planner, context)
  return planParts(
    { key: strategy.key, outlined: await strategy.outline({ ...call, settings }) },
    call,
    planner,
    context,
  )
}

/** The answers of a strategy, one after the other: each may be part of the request of the next. */
async function planParts(
  { key, outlined }: { readonly key: string; readonly outlined: readonly OutlinedAnswer[] },
  call: TaskCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedQuestion> {
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
  return { asked: { answer: { by: 'parts', strategy: key, parts }, tokens: last }, inputTokens, problem }
}

/** The answer of one agent or model. */
async function planAlone(call: TaskCall, planner: Planner, context: PlanContext): Promise<PlannedAlone> {
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
  context: PlanContext,
) {
  const looking = planner.look(target.spec.workspace)
  const alone = { ...target, spec: { ...target.spec, agents: [] } }
  const round: Round = {
    target: alone,
    // the plan of a strategy is made of the plans of its parts
    strategies: [],
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

async function planAnswer(call: Answering, planner: Planner, context: PlanContext): Promise<PlannedAlone['asked']> {
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

/** The answer of one agent or model. */
interface PlannedAlone {
  readonly asked: {
    readonly answer: SingleAnswerPlan
    /** Its maximum length; null: no limit is known. */
    readonly tokens: number | null
  }
  readonly inputTokens: number | null
  readonly problem: string | null
}

interface EnsembleCall extends TaskCall {
  readonly ensemble: Ensemble
  /** Plans one answer, as if the file had no ensemble: the callback to the caller. */
  readonly alone: (call: TaskCall, planner: Planner, context: PlanContext) => Promise<PlannedAlone>
}

interface PlannedEnsemble extends Pick<PlannedAlone, 'inputTokens' | 'problem'> {
  readonly asked: { readonly answer: AnswerPlan; readonly tokens: number | null }
}

/** The answers of all members, and what combines them. */
async function planEnsemble(
  { ensemble, alone, ...call }: EnsembleCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedEnsemble> {
  const { aggregate, quorum, retries } = ensemble
  const prepared = await prepareMembers(ensemble, call.target)
  const state = withoutEnsemble(call.state)
  const members: MemberPlan[] = []
  const planned: PlannedAlone[] = []
  for (const { name, kind, target } of prepared) {
    const one = await alone({ ...call, target, state }, planner, below(context, memberPlace(name)))
    planned.push(one)
    members.push({ name, kind, answer: tried(one.asked.answer, retries + 1) })
  }
  const tokens = planned.map((one) => one.asked.tokens)
  const [first] = planned
  const { inputTokens, problem } = first ?? { inputTokens: null, problem: null }
  const plan = { by: 'ensemble', aggregate, quorum, members } as const
  if (aggregate === 'vote' || aggregate === 'first') {
    const most = tokens.includes(null) ? null : Math.max(...tokens.map((each) => each ?? 0))
    return { asked: { answer: { ...plan, joined_by: null }, tokens: most }, inputTokens, problem }
  }
  const target = await aggregateTarget(ensemble, call.target)
  const ends = new Map(prepared.map(({ name }) => [name, nothingAnswered]))
  const views = viewsOf(prepared, ends)
  const question =
    ensemble.isolation === 'worktree'
      ? judgeQuestion(views, new Map())
      : synthesisQuestion({ views, isText: target.output === undefined })
  const asked = target.answerAgent === undefined ? { ...state, prompts: [...state.prompts, question] } : state
  const at = below(context, part('aggregate'))
  const last = await alone({ ...call, target, state: asked, drift: driftAfter(call.drift, tokens, at) }, planner, at)
  return {
    asked: { answer: { ...plan, joined_by: last.asked.answer }, tokens: last.asked.tokens },
    inputTokens,
    problem,
  }
}

const nothingAnswered = { status: 'answered', content: '', response: {}, spent: nothingSpent, seconds: 0 } as const

/** The last request contains all answers. */
function driftAfter(drift: Drift, tokens: readonly (number | null)[], { scope }: PlanContext): Drift {
  const known = tokens.flatMap((each) => each ?? [])
  const more = grown(
    drift,
    known.reduce((sum, each) => sum + each, 0),
  )
  return known.length === tokens.length ? more : decidedBy(more, placeText(scope.at))
}

/** The same answer, including retries of a failed member. */
function tried(answer: SingleAnswerPlan, times: number): SingleAnswerPlan {
  if (times === 1) return answer
  const most = (asks: readonly Ask[]): readonly Ask[] =>
    asks.map((ask) => ({
      ...ask,
      requests: raised(ask.requests, times),
      input_tokens: raised(ask.input_tokens, times),
      output_tokens: raised(ask.output_tokens, times),
      usd: ask.usd && raised(ask.usd, times),
    }))
  return answer.by === 'model'
    ? { ...answer, asks: most(answer.asks) }
    : { ...answer, step: { ...answer.step, asks: most(answer.step.asks) } }
}

function raised(range: Range, times: number): Range {
  return { ...range, at_most: range.at_most === null ? null : range.at_most * times }
}

/**
 * The agents that the model of a prompt file may start. How many, and what they do, is its choice: their models may be
 * called any number of times, or not at all, within the budgets.
 */
async function planTeam(
  { settings, roles }: Pick<PromptTarget, 'settings' | 'roles'>,
  { models, onNote }: Pick<Planner, 'models' | 'onNote'>,
): Promise<TeamPlan | undefined> {
  const { collab } = settings
  if (collab === undefined) return undefined
  const planned: RolePlan[] = []
  const asks: Ask[] = []
  for (const [name, role] of roles) {
    const kept = keptTools(role, settings)
    if (kept.length > 0)
      onNote(
        `the role ${name} is not given ${kept.join(', ')}: the tools of the file do not include ${kept.length === 1 ? 'it' : 'them'}`,
      )
    const { model } = role.settings
    const own = typeof model === 'string' ? await models.chooseOrNote(model) : undefined
    if (own !== undefined) asks.push(perhaps(own))
    planned.push({
      name,
      agent: agentOf(role, collab.roles[name]),
      model: own?.label ?? null,
      tools: role.tools ?? null,
    })
  }
  const { maxAgents, maxDepth, budget = null } = collab
  return { max_agents: maxAgents, max_depth: maxDepth, budget, roles: planned, asks: joinAsks(asks) }
}

function agentOf({ agent }: AgentDefinition, written: { readonly agent?: unknown } | undefined): string | null {
  return typeof written?.agent === 'string' ? agent.name : null
}

const any: Range = { at_least: 0, as_written: 0, at_most: null }

function perhaps({ label, kind, priced }: Awaited<ReturnType<Planner['models']['choose']>>): Ask {
  const isFree = priced?.isFree === true
  const usd = isFree ? { at_least: 0, as_written: 0, at_most: 0 } : priced === undefined ? null : any
  return {
    model: label,
    model_kind: kind,
    requests: any,
    input_tokens: any,
    output_tokens: any,
    usd,
    output_assumed: true,
  }
}
