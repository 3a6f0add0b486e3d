import { failedInput, isScript, requestFor, valueOfScript } from '../agent/agent-call.ts'
import { chainPromptInput } from '../agent/prompt-input.ts'
import { BatonError, isBatonError, isSuspension, rewordError, type SourcePlace, stopsRun } from '../base/error.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type AgentConfig, type Merge, normalizeSubAgents, type Stage } from '../config/agent-config.ts'
import type { ScriptAgent, TextAgent } from '../event/agent.ts'
import { below, emit, type Limits, narrow, type RunContext } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { withoutLimits } from '../event/limits.ts'
import { type Part, runPart } from '../event/part.ts'
import { type ChainAnswer, checkAs, readAnswer, readTextAnswer, type TextAnswer, textAnswerOf } from './answer.ts'
import { chainInput, type ChainState, eventOf, type StepRecord } from './state.ts'
import { isReserved, isRequestKey as isReservedRequestKey, withEmptyLists } from '../settings/keys.ts'

/** The limit of steps in one chain call: `sub_agents_next` could otherwise extend it forever. */
const maxSteps = 100

export interface ChainCall {
  readonly stage: Stage
  /** All entries of the file; the chain runs those of its stage. */
  readonly agents: readonly AgentConfig[]
  readonly state: ChainState
  readonly promptDir: string
  readonly redoCount: number
  readonly extra: JsonObject
  /** The model's answer so far; only in `post_task`. */
  readonly content?: string | undefined
}

/** An agent of a chain; `merge` applies if its entry sets none (default: `replace`). */
export type ChainAgent = (ScriptAgent | TextAgent) & { readonly builtIn: boolean; readonly merge?: Merge }

/** Functions of the run that the chain needs. */
export interface ChainServices {
  readonly findAgent: (config: AgentConfig) => ChainAgent | Promise<ChainAgent>
  /** Throws if the params are no longer valid settings. */
  readonly checkParams: (params: JsonObject) => unknown
  /** Where the entry is written; undefined for an entry that an agent returned. If omitted, errors name no place. */
  readonly placeOf?: (config: AgentConfig) => Promise<SourcePlace | undefined>
}

export interface ChainOutcome {
  readonly state: ChainState
  readonly content: string | undefined
  /** The last `agent_result` of this chain call. */
  readonly agentResult: Json | undefined
  readonly redo: boolean
}

/**
 * Runs the sub-agents of one stage in list order. Each sees the changes of the earlier ones.
 * @throws BatonError AGENT_FAILED when one fails; its return value is ignored and no later one starts
 */
export async function runChain(call: ChainCall, services: ChainServices, context: RunContext): Promise<ChainOutcome> {
  const { stage } = call
  const rest = call.agents.filter(({ stages }) => stages.includes(stage))
  const start: ChainOutcome = { state: call.state, content: call.content, agentResult: undefined, redo: false }
  if (!rest.some(({ enabled }) => enabled)) return start

  const at = below(context, { kind: 'stage', stage })
  emit(at, { type: 'stage.started', stage, agents: rest.filter(({ enabled }) => enabled).map(({ name }) => name) })
  try {
    const outcome = await runSteps({ ...call, agents: rest }, start, { services, context: at })
    emit(at, { type: 'stage.completed', stage })
    return outcome
  } catch (error) {
    if (!isSuspension(error)) emit(at, { type: 'stage.failed', stage, error: errorInfo(error) })
    throw error
  }
}

interface Surroundings {
  readonly services: ChainServices
  readonly context: RunContext
}

async function runSteps(call: ChainCall, start: ChainOutcome, surroundings: Surroundings): Promise<ChainOutcome> {
  let outcome = start
  let rest = call.agents
  const previous: StepRecord[] = []
  for (let step = 0; rest.length > 0; step += 1) {
    const [config, ...next] = rest as readonly [AgentConfig, ...AgentConfig[]]
    rest = next
    if (!config.enabled) continue
    try {
      if (step >= maxSteps) {
        const hint = 'An agent keeps adding agents with sub_agents_next.'
        throw new BatonError('LIMIT', `the ${call.stage} chain took more than ${maxSteps} steps`, { hint })
      }
      const agent = await surroundings.services.findAgent(config)
      checkAs(config, agent)
      const current = { config, agent, next, previous, step }
      const { state, content } = outcome
      const { answer, returned } = await runStep({ ...call, state, content }, current, surroundings.context)
      outcome = applyStep(outcome, answer, { config, agent, stage: call.stage }, surroundings)
      previous.push(recordOf(call.stage, config, { answer, returned }))
      if (answer.next !== undefined) rest = nextEntries(answer.next, call.stage, config)
    } catch (error) {
      throw await fromEntry(error, config, surroundings)
    }
  }
  return outcome
}

async function fromEntry(error: unknown, config: AgentConfig, { services, context }: Surroundings): Promise<unknown> {
  if (context.services.signal.aborted || !isBatonError(error) || stopsRun(error)) return error
  const from = await services.placeOf?.(config)
  return from === undefined ? error : rewordError(error, { from })
}

function applyStep(
  outcome: ChainOutcome,
  answer: ChainAnswer,
  { config, agent, stage }: { readonly config: AgentConfig; readonly agent: ChainAgent; readonly stage: Stage },
  { services, context }: Surroundings,
): ChainOutcome {
  const ignored = ignoredFields(answer, stage)
  if (ignored.length > 0) {
    emit(context, {
      type: 'warning',
      message: `Sub-agent [${config.name}] returned ${ignored.join(', ')}, which has no effect in ${stage}`,
    })
  }
  const changesRequest = stage === 'pre' || stage === 'pre_task'
  const merge = config.merge ?? defaultMerge(agent)
  const state = changesRequest ? applyAnswer(outcome.state, answer, { name: config.name, merge }) : outcome.state
  if (state.params !== outcome.state.params) checkReturned(state.params, config, services)
  return {
    state,
    content: stage === 'post_task' ? (answer.content ?? outcome.content) : outcome.content,
    agentResult: answer.result ?? outcome.agentResult,
    redo: outcome.redo || (stage === 'post' && answer.redo),
  }
}

/** A model names only the params it wants to set and cannot be expected to repeat all others. */
function defaultMerge({ kind, merge }: ChainAgent): Merge {
  return kind === 'prompt' || kind === 'command' ? 'shallow' : (merge ?? 'replace')
}

function ignoredFields(answer: ChainAnswer, stage: Stage): readonly string[] {
  const given: readonly (readonly [string, boolean, readonly Stage[]])[] = [
    ['coder_params', answer.params !== undefined, ['pre', 'pre_task']],
    ['coder_params_patch', answer.patch !== undefined, ['pre', 'pre_task']],
    ['coder_prompts', answer.prompts !== undefined || answer.append !== undefined, ['pre', 'pre_task']],
    ['ai_response', answer.content !== undefined, ['post_task']],
    ['coder_redo', answer.redo, ['post']],
  ]
  return given.filter(([, present, stages]) => present && !stages.includes(stage)).map(([name]) => name)
}

function checkReturned(params: JsonObject, config: AgentConfig, services: ChainServices): void {
  try {
    services.checkParams(params)
  } catch (error) {
    if (!isBatonError(error)) throw error
    const message = `Sub-agent [${config.name}] returned invalid coder_params: ${error.message}`
    throw rewordError(error, { code: 'AGENT_FAILED', message })
  }
}

function recordOf(stage: Stage, config: AgentConfig, { answer, returned }: StepAnswer): StepRecord {
  return {
    event: eventOf(stage),
    stage,
    config: config.entry,
    agent_result: answer.result ?? null,
    sub_agent_result: returned,
  }
}

/** The entries a sub-agent returned. Entries without a stage belong to the current one. */
function nextEntries(entries: readonly Json[], stage: Stage, config: AgentConfig): readonly AgentConfig[] {
  const { agents, findings } = normalizeSubAgents(entries)
  const [issue] = findings
  if (issue !== undefined) {
    const message = `Sub-agent [${config.name}] returned an invalid sub_agents_next: ${issue.message}`
    throw new BatonError('AGENT_FAILED', message, { hint: issue.hint })
  }
  return agents
    .map((agent) => (agent.entry['stage'] === undefined ? { ...agent, stages: [stage] } : agent))
    .filter(({ stages }) => stages.includes(stage))
}

interface Step {
  readonly config: AgentConfig
  readonly agent: ChainAgent
  readonly next: readonly AgentConfig[]
  readonly previous: readonly StepRecord[]
  /** From 0. */
  readonly step: number
}

/** The return value of a sub-agent, parsed and raw. */
interface StepAnswer {
  readonly answer: ChainAnswer
  readonly returned: Json
}

/**
 * Runs one sub-agent of a chain and reads its return value. The whole step is recorded.
 * @throws BatonError AGENT_FAILED naming the sub-agent, at the place in its file
 */
async function runStep(call: ChainCall, step: Step, context: RunContext): Promise<StepAnswer> {
  const { config, agent } = step
  const { stage, state, promptDir, redoCount } = call
  // a right that the chain gave up stays given up for all later agents
  const { write_mode: write } = state.params
  const limits = { write: write !== false, asks: write === 'ask', ...limitOfTools(state.params) }
  const at = narrow(below(context, { kind: 'step', index: step.step, name: config.name }), limits)
  const extra = call.content === undefined ? call.extra : withContent(call.extra, call.content)
  const { previous, next } = step
  const input = chainInput({ stage, config, state, previous, next, promptDir, redoCount, extra })
  const { coder_params: _params, coder_prompts: prompts, coder_prompt: _, ...others } = input
  const { sub_agents: _entries, ...params } = state.params
  const part: Part<Json> = {
    label: config.name,
    work: (inner) => runAgent({ input, step }, inner),
    inputs: { params: withoutLimits(params), prompts, input: others, options: config.options, agent: agent.text },
  }
  const { effects } = at.services
  effects.again(at.scope.at)
  const value = await runPart(part, at)
  try {
    return await readStep(value, step, stage)
  } catch (error) {
    // this return value would fail again, so a resumed run must not replay it
    effects.undo(at.scope.at)
    throw placed(error, agent.file)
  }
}

async function readStep(value: Json, { agent, config }: Step, stage: Stage): Promise<StepAnswer> {
  if (isScript(agent)) return { answer: readAnswer(config.name, value), returned: value }
  const text = value as TextAnswer | null
  return { answer: await readTextAnswer(config, stage, text), returned: text?.value ?? text?.text ?? null }
}

async function runAgent(
  { input, step: { agent, config } }: { readonly input: JsonObject; readonly step: Step },
  at: RunContext,
): Promise<Json> {
  try {
    const request = requestFor({ agent, inputs: [input], options: config.options }, () => chainPromptInput(input))
    const result = await at.services.agents.run(request, at)
    if (result.kind === 'prompt') return textAnswerOf(result) as Json
    const failure = failedInput(result)
    if (failure !== undefined) throw new BatonError('SCRIPT_FAILED', failure)
    return valueOfScript(result)
  } catch (error) {
    at.services.signal.throwIfAborted()
    throw failed(error, config, agent.file)
  }
}

function limitOfTools({ tools, disallowed_tools: disallowed }: JsonObject): Pick<Limits, 'tools'> {
  const given = {
    ...(Array.isArray(tools) ? { tools: tools.map(String) } : {}),
    ...(Array.isArray(disallowed) ? { disallowed_tools: disallowed.map(String) } : {}),
  }
  return Object.keys(given).length === 0 ? {} : { tools: given }
}

function withContent(extra: JsonObject, content: string): JsonObject {
  const response = extra['ai_response']
  return { ...extra, ai_response: { ...(response as JsonObject | undefined), content } }
}

/** A failing agent makes its sub-agent fail; the place in its file and the exit code of the cause are kept. */
function failed(error: unknown, { name }: AgentConfig, file: string): unknown {
  if (!isBatonError(error) || stopsRun(error)) return error
  const message = `Sub-agent [${name}] failed: ${error.message}`
  return rewordError(error, { code: 'AGENT_FAILED', message, place: error.place ?? { file } })
}

function placed(error: unknown, file: string): unknown {
  return isBatonError(error) ? rewordError(error, { place: error.place ?? { file } }) : error
}

interface MergeOptions {
  readonly name: string
  readonly merge: Merge
}

/**
 * The state after an answer. `coder_params` is merged into request keys and params as `merge` says (with `replace`,
 * keys that were not returned are lost); a patch always merges deeply, and null deletes a key; `sub_agents`
 * is dropped. Frame keys are fixed, except that rights can be reduced.
 * @throws BatonError AGENT_FAILED `Sub-agent [name] may not change "key"`
 */
export function applyAnswer(state: ChainState, answer: ChainAnswer, options: MergeOptions): ChainState {
  return {
    params: nextParams(state.params, answer, options),
    prompts: answer.prompts ?? [...state.prompts, ...(answer.append ?? [])],
  }
}

function nextParams(current: JsonObject, { params, patch }: ChainAnswer, options: MergeOptions): JsonObject {
  const returned = params ?? patch
  if (returned === undefined) return current
  const frame = nextFrame(pickKeys(current, isFrameKey), withEmptyLists(pickKeys(returned, isFrameKey)), options.name)
  const before = pickKeys(current, isChangeable)
  const after = pickKeys(returned, isChangeable)
  const joined = patch === undefined ? join(before, after, options.merge) : patched(before, after)
  return normalized({ ...frame, ...joined })
}

function isFrameKey(key: string): boolean {
  return isReserved(key) && !isReservedRequestKey(key) && key !== 'sub_agents'
}

function isChangeable(key: string): boolean {
  return !isReserved(key) || isReservedRequestKey(key)
}

function pickKeys(table: JsonObject, wanted: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(table).filter(([key]) => wanted(key)))
}

function join(before: JsonObject, after: JsonObject, merge: Merge): JsonObject {
  switch (merge) {
    case 'replace':
      return after
    case 'shallow':
      return { ...before, ...after }
    case 'deep':
      return deep(before, after)
  }
}

function deep(before: JsonObject, after: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(after)) {
    const old = merged[key]
    merged[key] = isJsonObject(old) && isJsonObject(value) ? deep(old, value) : value
  }
  return merged
}

function patched(before: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(patch)) {
    const old = merged[key]
    if (value === null) delete merged[key]
    else merged[key] = isJsonObject(value) ? patched(isJsonObject(old) ? old : {}, value) : value
  }
  return merged
}

/** Null means "not set". */
function normalized(params: JsonObject): JsonObject {
  return withEmptyLists(Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)))
}

function nextFrame(current: JsonObject, returned: JsonObject, name: string): JsonObject {
  const frame: Record<string, Json> = { ...current }
  for (const [key, value] of Object.entries(returned)) {
    const old = frame[key]
    if (value === null || equalJson(old, value) || (old !== undefined && isEmpty(old) && isEmpty(value))) continue
    const next = lowered(key, old, value)
    if (next === undefined) {
      throw new BatonError('AGENT_FAILED', `Sub-agent [${name}] may not change "${key}"`, {
        hint: 'This key is fixed when the run starts; set it in the front matter.',
      })
    }
    frame[key] = next
  }
  return frame
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** A chain may reduce its rights and its budget, never extend them; undefined: the value is not a reduction. */
function lowered(key: string, old: Json | undefined, value: Json): Json | undefined {
  switch (key) {
    case 'write_mode':
      return value === false || (old === true && value === 'ask') ? value : undefined
    case 'tools':
      // no tools at all are fewer than those of a config file
      return Array.isArray(value) && value.every((tool) => isAmong(old, tool)) ? value : undefined
    case 'budget':
      return lowerBudget(old ?? {}, value)
    default:
      return undefined
  }
}

function isAmong(tools: Json | undefined, tool: Json): boolean {
  return Array.isArray(tools) && (tools.includes(tool) || (tools.includes('*') && typeof tool === 'string'))
}

/** The budget with the smaller figures; any figure is smaller than no limit. */
function lowerBudget(old: Json, value: Json): JsonObject | undefined {
  if (!isJsonObject(old) || !isJsonObject(value)) return undefined
  const given = Object.entries(value).filter(([, amount]) => amount !== null)
  return given.every(([figure, amount]) => isSmaller(figure, old[figure], amount))
    ? { ...old, ...Object.fromEntries(given) }
    : undefined
}

function isSmaller(figure: string, old: Json | undefined, value: Json): boolean {
  if (equalJson(old, value)) return true
  if (figure === 'unpriced') return value === 'deny'
  return typeof value === 'number' && (old === undefined || (typeof old === 'number' && value <= old))
}
