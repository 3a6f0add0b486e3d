import { join } from 'node:path'
import { cloneJson, type Json, type JsonObject } from '../base/json.ts'
import type { AgentConfig, Stage } from '../config/agent-config.ts'
import type { ChainState } from './state.ts'
import { instructionOf } from './state.ts'

/** What one finished step of this chain call looks like to later agents. */
export interface StepRecord {
  readonly event: string
  readonly stage: Stage
  readonly config: JsonObject
  readonly agent_result: Json
  readonly sub_agent_result: Json
}

export interface InputParts {
  readonly stage: Stage
  readonly config: AgentConfig
  readonly state: ChainState
  readonly previous: readonly StepRecord[]
  readonly next: readonly AgentConfig[]
  readonly promptDir: string
  readonly redoCount: number
  /** What this stage adds: input, task, ai_response, coder_responses … */
  readonly extra: JsonObject
}

/** The one input of a sub-agent, in both published vocabularies (DESIGN 5; R231 to R237, R250). A deep copy. */
export function chainInput({
  stage,
  config,
  state,
  previous,
  next,
  promptDir,
  redoCount,
  extra,
}: InputParts): JsonObject {
  const { sub_agents: _, ...params } = state.params
  return cloneJson<JsonObject>({
    _display: config.name,
    coder_stage: stage,
    stage,
    event: eventOf(stage),
    coder_prompt_dir: promptDir,
    coder_params: params,
    coder_prompts: state.prompts,
    coder_prompt: instructionOf(state),
    agent_config: config.entry,
    sub_agents_prev: previous as unknown as Json,
    sub_agents_next: next.map(({ entry }) => entry),
    coder_workbench: workbench(promptDir),
    coder_redo_count: redoCount,
    ...extra,
  })
}

/** pro@coder's name for the moment: `start` and `end` for the outer stages. */
export function eventOf(stage: Stage): string {
  switch (stage) {
    case 'pre':
      return 'start'
    case 'post':
      return 'end'
    case 'pre_task':
    case 'post_task':
      return stage
  }
}

function workbench(promptDir: string): JsonObject {
  const dir = join(promptDir, 'workbench-default')
  return {
    dir,
    data_dir: join(dir, 'data'),
    cache_dir: join(dir, '.cache'),
    prompt_cache_dir: join(promptDir, '.cache'),
  }
}
