import { isBatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AgentRequest, CommandAgent, PromptInput, PromptRequest, ScriptRequest } from '../event/agent.ts'
import { below, withScope, withServices } from '../event/context.ts'
import { member as memberPlace, part, placeText } from '../event/place.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { variableInput } from '../stage/state.ts'
import { runTask } from '../run/task.ts'
import {
  type Ask,
  decidedBy,
  eachTime,
  figuresOf,
  grown,
  isOpen,
  joinAsks,
  planAsk,
  type Range,
  type Times,
} from './ask.ts'
import { followUpsOf } from './follow-ups.ts'
import {
  type AnswerPlanner,
  planChild,
  type PlannedQuestion,
  type Planner,
  type TaskCall,
  type PlanContext,
} from './planner.ts'
import type { AnswerPlan, PartPlan, PartsPlan, RolePlan, SingleAnswerPlan, StrategyPlan, TeamPlan } from './plan.ts'
import { planLeaf } from './script.ts'
import { type PlannedStage, planStage } from './stage.ts'
import { planTools } from './tools.ts'
import { answeringStrategy, type OutlinedAnswer, type Round } from '../run/strategy.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import { withheldTools } from '../load/roles.ts'

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

async function planQuestion(call: TaskCall, planner: Planner, context: PlanContext): Promise<PlannedQuestion> {
  const { settings } = call.target
  const strategy = answeringStrategy(planner.strategies, settings)
  const own = strategy && planner.answerPlanners.get(strategy.key)
  if (own !== undefined) return own.plan(call, planner, context)
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
export async function planAlone(call: TaskCall, planner: Planner, context: PlanContext): Promise<PlannedAlone> {
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
    const leads = answeringStrategy(planner.strategies, target.settings)?.leads === true
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
export function answerOf(tasks: readonly PlannedTask[], planner: Planner): AnswerPlan {
  const answers = tasks.map(({ answer }) => answer)
  const [first] = answers
  if (first === undefined) return unasked
  if (isSingle(first)) return joinSingle(first, answers.filter(isSingle))
  if (first.by === 'parts') return joinParts(first, answers)
  const alike = answers.filter((answer): answer is StrategyPlan => answer.by === first.by)
  return answerPlanner(first, planner).join(first, alike)
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

/** The answers to several tasks as one. */
export function joinSingle(answer: SingleAnswerPlan, answers: readonly SingleAnswerPlan[]): SingleAnswerPlan {
  if (answer.by === 'agent') {
    const asks = joinAsks(answers.flatMap(asksOfPart))
    return { by: 'agent', step: { ...answer.step, runs: answers.length, asks } }
  }
  // the agents that a model may start are not per task, so they are the same for all
  return { ...answer, asks: joinAsks(answers.flatMap((one) => (one.by === 'model' ? one.asks : asksOfPart(one)))) }
}

/** The answer, asked for each time. */
export function answerEachTime(answer: SingleAnswerPlan, times: Times): SingleAnswerPlan {
  return answer.by === 'agent'
    ? { ...answer, step: { ...answer.step, asks: eachTime(answer.step.asks, times) } }
    : { ...answer, asks: eachTime(answer.asks, times) }
}

export function isSingle(answer: AnswerPlan): answer is SingleAnswerPlan {
  return answer.by === 'model' || answer.by === 'agent'
}

/** The parts of an answer, each of one agent or model. */
export function partsOf(answer: AnswerPlan, planner: Planner): readonly PartPlan[] {
  if (isSingle(answer)) return [answer]
  if (answer.by === 'parts') return answer.parts.map((part) => part.answer)
  return answerPlanner(answer, planner).partsOf(answer)
}

/** All asks for an answer. */
export function asksOf(answer: AnswerPlan, planner: Planner): readonly Ask[] {
  return partsOf(answer, planner).flatMap(asksOfPart)
}

function asksOfPart(part: PartPlan): readonly Ask[] {
  return part.by === 'model' ? [...part.asks, ...(part.team?.asks ?? [])] : part.step.asks
}

function answerPlanner({ by }: StrategyPlan, { answerPlanners }: Planner): AnswerPlanner {
  const found = answerPlanners.get(by)
  if (found === undefined) throw new Error(`no code plans the answers of ${by}`)
  return found
}

/** The answer of one agent or model. */
export interface PlannedAlone {
  readonly asked: {
    readonly answer: SingleAnswerPlan
    /** Its maximum length; null: no limit is known. */
    readonly tokens: number | null
  }
  readonly inputTokens: number | null
  readonly problem: string | null
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
    const kept = withheldTools(role, settings)
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
