import type { Json, JsonObject } from '../base/json.ts'
import { mergeLayers } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { PromptAgent, ScriptAgent } from '../event/agent.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import type { FileRef, FileSet } from './files.ts'
import type { TaskPlan } from './plan.ts'
import { variableInput } from './variable-input.ts'

export interface AgentQuestion {
  /** What `agent` of the front matter names. */
  readonly agent: ScriptAgent | PromptAgent
  readonly spec: RunSpec
  /** The values of its `[input]` variables. */
  readonly vars?: JsonObject | undefined
  readonly plan: TaskPlan
  /** After the `pre_task` chain. */
  readonly state: ChainState
  readonly files: FileSet
}

/** What the agent gets as `input` (DESIGN 4 "agent = X"). */
export function questionInput({ spec, vars, plan, state, files }: AgentQuestion): JsonObject {
  const { sub_agents: _, ...params } = state.params
  const { index, count, label, input, working } = plan
  const refs = (list: readonly FileRef[]): Json => list.map(({ path, size }) => ({ path, size }))
  return {
    _display: label,
    prompt_file: spec.source === 'file' ? spec.file : null,
    ...variableInput({ vars }),
    instruction: instructionOf(state),
    prompts: state.prompts,
    params,
    input,
    task: { index, count, label },
    files: {
      context: refs(files.context),
      knowledge: refs(files.knowledge),
      structure: files.structure,
      working: refs(working),
    },
  }
}

const modelOptions = [
  'model',
  'model_aliases',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'seed',
] as const

/**
 * It is the main agent, so what the front matter (as the chain left it), the environment and flags say about the model
 * wins over its own options (DESIGN 3); config files do not. Scripts read those of them that are options of scripts.
 */
export function questionOptions({ spec, state }: Pick<AgentQuestion, 'spec' | 'state'>): JsonObject {
  const own = { ...spec.layers.own, values: state.params }
  const { values } = mergeLayers([own, ...spec.layers.above])
  return Object.fromEntries(
    modelOptions.flatMap((key): readonly (readonly [string, Json])[] => {
      const value = values[key]
      return value === undefined || value === null ? [] : [[key, value]]
    }),
  )
}
