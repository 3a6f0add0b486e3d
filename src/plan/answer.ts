import { isBatonError } from '../base/error.ts'
import { defined, type Json } from '../base/json.ts'
import type { InputVariable } from '../config/input-variables.ts'
import type { AgentRequest, CommandAgent, PromptInput, PromptRequest, ScriptRequest } from '../event/agent.ts'
import { below, withScope, withServices } from '../event/context.ts'
import { member as memberPlace, part, placeText } from '../event/place.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { variableInput } from '../stage/state.ts'
import { runTask } from '../run/task.ts'
import {
  type Ask,
  decidedBy,
  type Drift,
  eachTime,
  type Figures,
  figuresOf,
  grown,
  insteadOf,
  isOpen,
  joinAsks,
  type ModelAsk,
  openAsk,
  planAsk,
  type Range,
} from './ask.ts'
import {
  type AnswerShape,
  type AnswerShapes,
  planChild,
  type PlanContext,
  type PlannedPart,
  type PlannedQuestion,
  type Planner,
  type TaskCall,
} from './planner.ts'
import type {
  AnswerPlan,
  PartPlan,
  PartsPlan,
  RolePlan,
  SingleAnswerPlan,
  StrategyPlan,
  SummaryPlan,
  TeamPlan,
} from './plan.ts'
import { offeredTools, inMode } from './mode.ts'
import { planLeaf } from './script.ts'
import { type PlannedStage, planStage } from './stage.ts'
import { planTools } from './tools.ts'
import {
  answeringStrategy,
  type OutlinedAnswer,
  type OutlinedAsk,
  type OutlinedSummary,
  type Round,
  type Times,
} from '../run/strategy.ts'
import { countOf } from '../render/format.ts'
import { indented, shownLine, singleLines } from './text.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import { withheldTools } from '../load/roles.ts'
import { maxRepairs } from '../run/structured-answer.ts'

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
  const { target } = call
  const { settings } = target
  const strategy = answeringStrategy(planner.strategies, settings)
  if (strategy?.outline === undefined) return planOne(asTask(call, context), call, planner, below(context, part('ask')))
  const parts = await walk(await strategy.outline({ ...call, settings }), call, planner, context)
  return shapeOf(strategy.key, planner.shapes).of(parts, target)
}

/** The answers of an outline, each with what those before it may have changed. Nothing is evaluated. */
async function walk(
  outlined: readonly OutlinedAnswer[],
  call: TaskCall,
  planner: Planner,
  context: PlanContext,
): Promise<readonly PlannedPart[]> {
  const walked = new Map<string, WalkedPart>()
  for (const one of outlined) walked.set(one.name, await planPart(one, { ...call, walked }, planner, context))
  return [...walked.values()]
}

interface WalkedPart extends PlannedPart {
  /** How far what is given its answer may differ. */
  readonly drift: Drift
  /** It is asked for only after a failure: as written, it is not. */
  readonly isSpare: boolean
}

interface PartCall extends TaskCall {
  readonly walked: ReadonlyMap<string, WalkedPart>
}

async function planPart(
  one: OutlinedAnswer,
  { walked, ...around }: PartCall,
  planner: Planner,
  context: PlanContext,
): Promise<WalkedPart> {
  const { name, when = 'success', times, isForEach = false, repeatsAnswers = false } = one
  const inner = below(context, one.at ?? memberPlace(name))
  const at = placeText(inner.scope.at)
  const needs = one.needs === undefined ? [...walked.values()] : one.needs.flatMap((need) => walked.get(need) ?? [])
  const before = needs.reduce((sum, need) => grown(decidedBy(sum, ...need.drift.by), need.tokens ?? 0), around.drift)
  const drift = isForEach || when === 'decided' ? decidedBy(before, at) : before
  const isSpare = when === 'failure' || (when === 'success' && needs.some((need) => need.isSpare))
  const call = { ...around, target: one.target, state: one.state, drift }
  const [first = asTask(call, inner), ...others] = one.asks ?? []
  const place = one.asks === undefined ? below(inner, part('ask')) : inner
  const { asked, inputTokens, problem } = await planOne(first, call, planner, place)
  const instead: Ask[] = []
  for (const other of others) {
    const { asked: spare } = await planOne(other, call, planner, place)
    instead.push(...asksOfPart(spare.answer).map(insteadOf))
  }
  const whole = withAsks(asked.answer, (asks) => [...asks, ...instead])
  const answer = withEachAsk(times === undefined ? whole : answerEachTime(whole, times), (ask) => {
    const possible = repeatsAnswers && needs.length > 0 ? openAsk(ask) : ask
    return isSpare ? insteadOf(possible) : possible
  })
  const tokens = isForEach ? null : asked.tokens
  return {
    name,
    at,
    answer,
    tokens,
    decidedBy: before.by,
    inputTokens,
    problem,
    drift: tokens === null ? decidedBy(drift, at) : drift,
    isSpare,
  }
}

type AnswerCall = Pick<TaskCall, 'target' | 'drift' | 'laterTokens'>

/** One answer of one agent or model: what the code of a run asks for it. `context`: the place of the answer. */
async function planOne(
  asking: OutlinedAsk,
  call: AnswerCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedOne> {
  const { drift, laterTokens = 0 } = call
  const { request, problem } = await requestOf(asking, call, planner, context)
  const answering = { ...asking, target: call.target, drift: grown(drift, laterTokens) }
  if (request === undefined) {
    return {
      asked: { answer: { ...noRequest, decided_by: answering.drift.by }, tokens: problem === null ? 0 : null },
      inputTokens: null,
      problem,
    }
  }
  if (!('messages' in request)) {
    return { asked: await planAgent({ ...answering, request }, planner, context), inputTokens: null, problem }
  }
  const sent = await inMode(request, planner)
  const { input, output } = figuresOf(sent.request)
  const answer = await planModel({ ...answering, ...sent, output }, planner, context)
  return { asked: { answer, tokens: output }, inputTokens: input, problem }
}

/** Asks as a run does for the answer to a task, without the chains. */
function asTask({ target, plan, state, files, given, promptOf }: TaskCall, { scope }: PlanContext): OutlinedAsk {
  const round: Round = {
    target: { ...target, spec: { ...target.spec, agents: [] } },
    // an outline has the answers of a strategy
    strategies: [],
    state,
    redoCount: 0,
    services: { findAgent: target.findAgent, checkParams: target.settingsFor },
    given,
    filesOf: async () => files,
    filesIn: async () => files,
    ...defined({ promptOf }),
  }
  return { ask: (looking) => runTask(plan, round, withScope(looking, { at: scope.at })), decides: ['the answer'] }
}

/** The first request that is sent; undefined: none is. */
async function requestOf(
  { ask }: OutlinedAsk,
  { target, drift }: AnswerCall,
  planner: Planner,
  { scope, services }: PlanContext,
) {
  const looking = planner.look(target.spec.workspace)
  try {
    const { effects, definitions } = services
    const alike = withServices(looking.context, { effects, ...defined({ definitions }) })
    await ask(withScope(alike, { at: scope.at, rights: scope.rights }))
  } catch (error) {
    if (!isBatonError(error) || !isOpen(drift)) throw error
    return { request: undefined, problem: error.message }
  }
  return { request: looking.taken()[0], problem: null }
}

type Answering = OutlinedAsk & Pick<TaskCall, 'target' | 'drift'>

const noRequest = { by: 'model', asks: [], tools: [], output_limit: 0, decided_by: [] } as const

interface AnsweringModel extends Answering {
  readonly request: ModelAsk
  readonly offersTools: boolean
  readonly output: number
}

async function planModel(
  { request, target, drift, isBare = false, offersTools, output }: AnsweringModel,
  planner: Planner,
  context: PlanContext,
): Promise<SingleAnswerPlan> {
  const leads = !isBare && answeringStrategy(planner.strategies, target.settings)?.leads === true
  const followUps = isBare ? () => [] : followUpsOf(target)
  const isEndless = leads || !offersTools
  const asks = await planAsk(request, { drift, tries: planner.tries, followUps, isEndless }, planner.models)
  const facts = { output_limit: output, decided_by: drift.by }
  if (isBare) return { by: 'model', asks, tools: [], ...facts }
  const tools = await planTools(target.settings, await planner.serversOf(target.spec.file), context)
  const given = offeredTools(tools, offersTools)
  return { by: 'model', asks, ...given, ...facts, ...defined({ team: await planTeam(target, planner) }) }
}

interface AnsweringAgent extends Answering {
  readonly request: Exclude<AgentRequest, ModelAsk>
}

async function planAgent(
  { request, drift, decides: own, hasOpenVariables = false }: AnsweringAgent,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedOne['asked']> {
  const at = placeText(context.scope.at)
  const { name } = request.agent
  const step = { at, name, enabled: true, entry: {}, runs: 1, changes: ['the answer'], decided_by: drift.by }
  if (request.agent.kind === 'prompt') {
    const { agent, options } = request
    const [given] = request.inputs as readonly PromptInput[]
    if (given === undefined) throw new Error('a prompt file that answers has an input')
    const known = hasOpenVariables ? await withAnyValues(given, agent, planner) : given
    const { plan, answer } = await planChild({ agent, given: known, options, drift }, planner, context)
    return { answer: { by: 'agent', step: { ...step, agent: plan, decides: [], asks: plan.asks } }, tokens: answer }
  }
  const { agent, options: given } = request as ScriptRequest | PromptRequest<CommandAgent>
  const inputs = request.kind === 'prompt' ? request.inputs.map(({ value }) => value) : request.inputs
  const options = { inherited: context.scope.options, given }
  const planned = await planLeaf({ agent, inputs, options, drift, at }, planner, context)
  const decides = [...own, ...planned.decides]
  return { answer: { by: 'agent', step: { ...step, agent: planned, decides, asks: planned.asks } }, tokens: null }
}

/** The input, with possible values for the variables of the file that have none yet. */
async function withAnyValues(
  given: PromptInput,
  agent: Parameters<Planner['loadChild']>[0],
  planner: Planner,
): Promise<PromptInput> {
  const { spec } = await planner.loadChild(agent)
  const unknown = Object.fromEntries((spec.variables ?? []).map((variable) => [variable.name, anyValue(variable)]))
  const { values, others } = given.variables
  return { ...given, variables: { values: { ...unknown, ...values }, others } }
}

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

/** What summarizes one iteration for the next. */
export async function planSummary(
  outlined: OutlinedSummary,
  { target, drift }: AnswerCall,
  planner: Planner,
  context: PlanContext,
): Promise<SummaryPlan> {
  const inner = below(context, ...outlined.at)
  const call = { target, drift: grown(drift, outlined.moreTokens) }
  const { answer } = (await planOne(outlined, call, planner, inner)).asked
  const { agent, decides, asks } = answer.by === 'agent' ? answer.step : { ...answer, agent: null, decides: [] }
  return { at: placeText(inner.scope.at), agent, decides, asks }
}

/** How all tasks are answered: by one agent or model, with the asks of all of them. */
export function answerOf(tasks: readonly PlannedTask[], planner: Planner): AnswerPlan {
  const answers = tasks.map(({ answer }) => answer)
  const [first] = answers
  if (first === undefined) return noRequest
  if (isSingle(first)) return joinSingle(first, answers.filter(isSingle))
  const alike = answers.filter((answer): answer is StrategyPlan => answer.by === first.by)
  return shapeOf(first.by, planner.shapes).join(first, alike)
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
  return withAsks(answer, (asks) => eachTime(asks, times))
}

/** The answer with other asks, not those of a team. */
function withAsks(answer: SingleAnswerPlan, change: (asks: readonly Ask[]) => readonly Ask[]): SingleAnswerPlan {
  return answer.by === 'agent'
    ? { ...answer, step: { ...answer.step, asks: change(answer.step.asks) } }
    : { ...answer, asks: change(answer.asks) }
}

/** The answer with each ask changed, also those of a team. */
function withEachAsk(answer: SingleAnswerPlan, change: (ask: Ask) => Ask): SingleAnswerPlan {
  const changed = withAsks(answer, (asks) => asks.map(change))
  if (changed.by === 'agent' || changed.team === undefined) return changed
  return { ...changed, team: { ...changed.team, asks: changed.team.asks.map(change) } }
}

export function isSingle(answer: AnswerPlan): answer is SingleAnswerPlan {
  return answer.by === 'model' || answer.by === 'agent'
}

/** The parts of an answer, each of one agent or model. */
export function partsOf(answer: AnswerPlan, planner: Planner): readonly PartPlan[] {
  if (isSingle(answer)) return [answer]
  return shapeOf(answer.by, planner.shapes).partsOf(answer)
}

/** All asks for an answer. */
export function asksOf(answer: AnswerPlan, planner: Planner): readonly Ask[] {
  return partsOf(answer, planner).flatMap(asksOfPart)
}

export function asksOfPart(part: PartPlan): readonly Ask[] {
  return part.by === 'model' ? [...part.asks, ...(part.team?.asks ?? [])] : part.step.asks
}

/** How the answers of a strategy are shown. */
export function shapeOf(key: string, shapes: AnswerShapes): AnswerShape {
  return shapes.get(key) ?? (sequenceShape(key) as AnswerShape)
}

/** The answers of a strategy without a shape of its own: one after the other, the last of which counts. */
function sequenceShape(strategy: string): AnswerShape<PartsPlan> {
  return {
    of(planned) {
      const parts = planned.map(({ name, answer }) => ({ name, answer }))
      const { inputTokens = null, problem = null } = planned[0] ?? {}
      const tokens = planned.length === 0 ? 0 : (planned.at(-1)?.tokens ?? null)
      return { asked: { answer: { by: 'parts', strategy, parts }, tokens }, inputTokens, problem }
    },
    join(first, all) {
      const parts = first.parts.map(({ name, answer }, index) => ({
        name,
        answer: joinSingle(
          answer,
          all.flatMap((one) => one.parts[index]?.answer ?? []),
        ),
      }))
      return { ...first, parts }
    },
    partsOf: ({ parts }) => parts.map(({ answer }) => answer),
    lines: ({ strategy: key, parts }, options) => [
      `${options.paint('bold', shownLine(key))}  ${countOf(parts.length, 'answer')}, one after the other`,
      ...parts.flatMap(({ name, answer }) => singleLines(answer, shownLine(name), options)).map(indented),
    ],
  }
}

/** The answer of one agent or model. */
interface PlannedOne {
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

/** Corrections of an answer that does not match `[output]`, and of file changes that cannot be applied. */
function followUpsOf({ output, settings }: PromptTarget): (figures: Figures) => readonly number[] {
  if (output !== undefined) {
    return ({ output: limit }) => Array.from({ length: maxRepairs }, (_, index) => (index + 1) * 2 * limit)
  }
  if (!settings.write_mode) return () => []
  const { repair } = settings.changes
  return ({ input, output: limit }) => Array.from({ length: repair }, (_, index) => (index + 1) * (limit + input))
}
