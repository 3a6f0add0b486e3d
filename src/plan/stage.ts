import { chainPromptInput } from '../agent/prompt-input.ts'
import type { JsonObject } from '../base/json.ts'
import type { AgentConfig, Stage } from '../config/agent-config.ts'
import { below } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import { placeText } from '../event/place.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { chainInput, type ChainState } from '../stage/state.ts'
import { estimateTokens } from '../model/estimate.ts'
import { decidedBy, type Drift, grown, joinAsks } from './ask.ts'
import type { StepPlan } from './plan.ts'
import { planCommand } from './command.ts'
import { planChild, type PlanContext, type Planner } from './planner.ts'
import { planScript } from './script.ts'

export interface StageCall {
  readonly stage: Stage
  readonly target: PromptTarget
  readonly state: ChainState
  /** What this stage adds to the input. */
  readonly extra: JsonObject
  readonly drift: Drift
}

export interface PlannedStage {
  readonly steps: readonly StepPlan[]
  /** How far anything after the chain may differ. */
  readonly drift: Drift
}

/** One call of a chain: its agents in order, each with what the earlier ones may have changed. */
export async function planStage(call: StageCall, planner: Planner, context: PlanContext): Promise<PlannedStage> {
  const { stage, target } = call
  const agents = target.spec.agents.filter(({ stages }) => stages.includes(stage))
  const steps: StepPlan[] = []
  let { drift } = call
  for (const [index, config] of agents.entries()) {
    const inner = below(context, { kind: 'stage', stage }, { kind: 'step', index, name: config.name })
    const at = placeText(inner.scope.at)
    if (!config.enabled) {
      steps.push({ ...unused, at, name: config.name, entry: entryOf(config), decided_by: drift.by })
      continue
    }
    const next = agents.slice(index + 1)
    const planned = await planStep({ ...call, drift, config, next, at }, planner, inner)
    steps.push(planned.step)
    drift = planned.drift
  }
  return { steps, drift }
}

const unused = { enabled: false, runs: 0, agent: null, changes: [], decides: [], asks: [] } as const

interface StepCall extends StageCall {
  readonly config: AgentConfig
  readonly next: readonly AgentConfig[]
  readonly at: string
}

async function planStep(call: StepCall, planner: Planner, context: PlanContext) {
  const { stage, target, state, extra, config, next, at, drift } = call
  const agent = await target.findAgent(config)
  const { promptDir } = target.spec
  const input = chainInput({ stage, config, state, previous: [], next, promptDir, redoCount: 0, extra })
  const { options: given } = config
  const step = { at, name: config.name, enabled: true, entry: entryOf(config), runs: 1, decided_by: drift.by }
  if (agent.kind === 'aip' || agent.kind === 'lua') {
    const options = { inherited: context.scope.options, given }
    const planned = await planScript({ agent, inputs: [input], options, drift, at }, planner, context)
    const changes = changesOf(stage, target)
    const decides = [...changes, ...planned.decides]
    return { step: { ...step, agent: planned, changes, decides, asks: planned.asks }, drift: decidedBy(drift, at) }
  }
  const { plan, answer } =
    agent.kind === 'command'
      ? { plan: planCommand({ agent, inputs: [input], given, drift }, context), answer: null }
      : await planChild({ agent, given: chainPromptInput(input), options: given, drift }, planner, context)
  const effect = effectOfText(call, answer)
  const isOpen = effect.kind === 'open'
  const open = isOpen ? [at] : []
  return {
    step: { ...step, agent: plan, changes: effect.changes, decides: isOpen ? effect.changes : [], asks: plan.asks },
    drift: { ...decidedBy(grown(drift, effect.more), ...open), less: Math.max(drift.less, effect.less) },
  }
}

function entryOf({ entry }: AgentConfig): JsonObject {
  const { name: _name, enabled: _enabled, stage: _stage, ...rest } = entry
  return rest
}

function changesOf(stage: Stage, { spec }: PromptTarget): readonly string[] {
  const isFixed = spec.layers.above.some(({ values }) => values['model'] !== undefined)
  switch (stage) {
    case 'pre':
    case 'pre_task':
      return ['params', 'files', ...(isFixed ? [] : ['model']), 'instruction', 'the agents after it']
    case 'post_task':
      return ['the answer', 'the agents after it']
    case 'post':
      return ['whether the run is done again', 'the agents after it']
  }
}

interface TextEffect {
  readonly kind: 'open' | 'known'
  readonly more: number
  readonly less: number
  readonly changes: readonly string[]
}

/** What the text of a prompt file may change by the `as` of its entry; `answer` is its maximum length in tokens. */
function effectOfText({ stage, config, state }: StepCall, answer: number | null): TextEffect {
  const nothing = { kind: 'known', more: 0, less: 0, changes: [] } as const
  const use = stage === 'post_task' || stage === 'post' ? 'result' : (config.as ?? 'append')
  const kind = answer === null ? 'open' : 'known'
  const more = answer ?? 0
  switch (use) {
    case 'result':
      return nothing
    case 'append':
      return { kind, more, less: 0, changes: ['instruction'] }
    case 'replace': {
      const less = estimateTokens([textMessage('user', state.prompts.join('\n\n'))])
      return { kind, more, less, changes: ['instruction'] }
    }
    case 'params':
      return { kind: 'open', more: 0, less: 0, changes: ['params', 'files', 'model'] }
  }
}

/** The same chain for several tasks: each step once, with the asks of all of them. */
export function mergeStages(stages: readonly PlannedStage[], fallback: Drift): PlannedStage {
  const [first, ...others] = stages
  if (first === undefined) return { steps: [], drift: fallback }
  const steps = first.steps.map((step, index) =>
    others.reduce((sum, { steps: more }) => plusStep(sum, more[index]), step),
  )
  const more = Math.max(...stages.map(({ drift }) => drift.more))
  const less = Math.max(...stages.map(({ drift }) => drift.less))
  return { steps, drift: { ...first.drift, more, less } }
}

function plusStep(step: StepPlan, other: StepPlan | undefined): StepPlan {
  if (other === undefined) return step
  return { ...step, runs: step.runs + other.runs, asks: joinAsks([...step.asks, ...other.asks]) }
}
