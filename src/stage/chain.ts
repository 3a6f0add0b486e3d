import { BatonError, isBatonError, rewordError, type SourcePlace, stopsRun } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { type AgentConfig, type Merge, normalizeSubAgents, type Stage } from '../config/agent-config.ts'
import type { PromptAgent, ScriptAgent } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import type { ChainAnswer } from './answer.ts'
import { eventOf, type StepRecord } from './input.ts'
import { applyAnswer } from './merge.ts'
import type { ChainState } from './state.ts'
import { runStep } from './step.ts'
import { checkAs } from './text-answer.ts'

/** Steps one chain call may take (D29): `sub_agents_next` could otherwise go on for ever. */
const maxSteps = 100

export interface ChainCall {
  readonly stage: Stage
  /** All entries of the file; the chain takes those of its stage. */
  readonly agents: readonly AgentConfig[]
  readonly state: ChainState
  readonly promptDir: string
  readonly redoCount: number
  /** What this stage adds to the input. */
  readonly extra: JsonObject
  /** The model's answer so far, in `post_task`. */
  readonly content?: string
}

/** An agent of a chain with the way its answers are merged when its entry does not say; left out: `replace`. */
export type ChainAgent = (ScriptAgent | PromptAgent) & { readonly builtIn: boolean; readonly merge?: Merge }

/** Functions of the run that the chain needs, handed down. */
export interface ChainServices {
  readonly findAgent: (config: AgentConfig) => ChainAgent | Promise<ChainAgent>
  /** Throws when params no longer make valid settings. */
  readonly checkParams: (params: JsonObject) => unknown
  /** Where the entry is written; undefined for one that an agent has returned. Left out: nowhere. */
  readonly placeOf?: (config: AgentConfig) => Promise<SourcePlace | undefined>
}

export interface ChainOutcome {
  readonly state: ChainState
  readonly content: string | undefined
  /** The last `agent_result` of the chain call. */
  readonly agentResult: Json | undefined
  readonly redo: boolean
}

/**
 * Runs the sub-agents of one stage in list order, each seeing what the earlier ones changed (R251 to R253).
 * @throws BatonError AGENT_FAILED when one fails; what it returned is ignored and no later one starts
 */
export async function runChain(call: ChainCall, services: ChainServices, context: RunContext): Promise<ChainOutcome> {
  const { stage } = call
  const rest = call.agents.filter(({ stages }) => stages.includes(stage))
  const start: ChainOutcome = { state: call.state, content: call.content, agentResult: undefined, redo: false }
  if (!rest.some(({ enabled }) => enabled)) return start

  const at = below(context, stage)
  emit(at, { type: 'stage.started', stage, agents: rest.filter(({ enabled }) => enabled).map(({ name }) => name) })
  try {
    const outcome = await runSteps({ ...call, agents: rest }, start, { services, context: at })
    emit(at, { type: 'stage.completed', stage })
    return outcome
  } catch (error) {
    emit(at, { type: 'stage.failed', stage, error: errorInfo(error) })
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
      if (step >= maxSteps) throw tooManySteps(call.stage)
      const agent = await surroundings.services.findAgent(config)
      checkAs(config, agent)
      const current = { config, agent, next, previous, step }
      const answer = await runStep({ ...call, ...outcomeFields(outcome) }, current, surroundings.context)
      outcome = applyStep(outcome, answer, { config, agent, stage: call.stage }, surroundings)
      previous.push(recordOf(call.stage, config, answer))
      if (answer.next !== undefined) rest = nextEntries(answer.next, call.stage, config)
    } catch (error) {
      throw await fromEntry(error, config, surroundings)
    }
  }
  return outcome
}

/** The error with the entry of the file that led to it. */
async function fromEntry(error: unknown, config: AgentConfig, { services, context }: Surroundings): Promise<unknown> {
  if (context.signal.aborted || !isBatonError(error) || stopsRun(error)) return error
  const from = await services.placeOf?.(config)
  return from === undefined ? error : rewordError(error, { from })
}

function outcomeFields({ state, content }: ChainOutcome): Pick<ChainCall, 'state' | 'content'> {
  return { state, ...(content === undefined ? {} : { content }) }
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
      message: `Sub-agent [${config.name}] returned ${ignored.join(', ')}, which changes nothing in ${stage}`,
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

/** A model names the params it wants to set and cannot be expected to repeat all others. */
function defaultMerge({ kind, merge }: ChainAgent): Merge {
  return kind === 'prompt' ? 'shallow' : (merge ?? 'replace')
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
    const message = `Sub-agent [${config.name}] returned coder_params that are not valid: ${error.message}`
    throw rewordError(error, { code: 'AGENT_FAILED', message })
  }
}

function recordOf(stage: Stage, config: AgentConfig, answer: ChainAnswer): StepRecord {
  return {
    event: eventOf(stage),
    stage,
    config: config.entry,
    agent_result: answer.result ?? null,
    sub_agent_result: answer as unknown as Json,
  }
}

/** Entries a sub-agent returned: without a stage of their own they belong to this one. */
function nextEntries(entries: readonly Json[], stage: Stage, config: AgentConfig): readonly AgentConfig[] {
  const { agents, findings } = normalizeSubAgents(entries)
  const [issue] = findings
  if (issue !== undefined) {
    throw new BatonError(
      'AGENT_FAILED',
      `Sub-agent [${config.name}] returned sub_agents_next that is not valid: ${issue.message}`,
      { hint: issue.hint },
    )
  }
  return agents
    .map((agent) => (agent.entry['stage'] === undefined ? { ...agent, stages: [stage] } : agent))
    .filter(({ stages }) => stages.includes(stage))
}

function tooManySteps(stage: Stage): BatonError {
  return new BatonError('LIMIT', `the ${stage} chain took more than ${maxSteps} steps`, {
    hint: 'An agent keeps adding agents through sub_agents_next.',
  })
}
