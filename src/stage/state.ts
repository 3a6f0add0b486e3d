import { join } from 'node:path'
import { cloneJson, type Json, type JsonObject } from '../base/json.ts'
import type { AgentConfig, Stage } from '../config/agent-config.ts'

/** The state that is passed from agent to agent like a baton. */
export interface ChainState {
  /** `coder_params`: the current front matter, without `sub_agents`. */
  readonly params: JsonObject
  /** `coder_prompts`: the segments of the instruction. */
  readonly prompts: readonly string[]
}

/** The instruction for the model: the segments joined by a blank line. */
export function instructionOf({ prompts }: ChainState): string {
  return prompts.join('\n\n')
}

/** A finished step of this chain call as later agents see it. */
export interface StepRecord {
  readonly event: string
  readonly stage: Stage
  readonly config: JsonObject
  readonly agent_result: Json
  readonly sub_agent_result: Json
}

interface InputParts {
  readonly stage: Stage
  readonly config: AgentConfig
  readonly state: ChainState
  readonly previous: readonly StepRecord[]
  readonly next: readonly AgentConfig[]
  readonly promptDir: string
  readonly redoCount: number
  /** Fields that only this stage has: input, task, ai_response, coder_responses … */
  readonly extra: JsonObject
}

/** These are lists for every agent, whatever the one before it returned. */
const noFiles = { context_globs: [], structure_globs: [], knowledge_globs: [] }

/** The input of a sub-agent, with the field names of both published vocabularies. A deep copy. */
export function chainInput({ stage, config, state, promptDir, extra, ...parts }: InputParts): JsonObject {
  const { sub_agents: _, ...params } = state.params
  return cloneJson<JsonObject>({
    _display: config.name,
    coder_stage: stage,
    stage,
    event: eventOf(stage),
    coder_prompt_dir: promptDir,
    coder_params: { ...noFiles, ...params },
    coder_prompts: state.prompts,
    coder_prompt: instructionOf(state),
    agent_config: config.entry,
    sub_agents_prev: parts.previous as unknown as Json,
    sub_agents_next: parts.next.map(({ entry }) => entry),
    coder_workbench: workbench(promptDir),
    coder_redo_count: parts.redoCount,
    ...extra,
  })
}

/** pro@coder's name for the stage: `start` and `end` for the outer stages. */
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

/** The `[input]` variables of the calling file, as agents get them: `vars`, if there are any. */
export function variableInput({ vars }: { readonly vars?: JsonObject | undefined }): JsonObject {
  return vars === undefined ? {} : { vars }
}
