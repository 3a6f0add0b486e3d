import type { JsonObject } from '../base/json.ts'

/** What is handed from agent to agent like a baton (R248). */
export interface ChainState {
  /** `coder_params`: the front matter as it stands now, without `sub_agents`. */
  readonly params: JsonObject
  /** `coder_prompts`: the segments of the instruction. */
  readonly prompts: readonly string[]
}

/** The instruction a model gets: segments joined by a blank line (R255). */
export function instructionOf({ prompts }: ChainState): string {
  return prompts.join('\n\n')
}
