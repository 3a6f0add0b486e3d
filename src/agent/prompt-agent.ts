import type { Json, JsonObject } from '../base/json.ts'
import type { PromptAgent, PromptInput, PromptRequest, ScriptAgent, ScriptRequest } from '../event/agent.ts'

export interface AgentCall {
  readonly agent: ScriptAgent | PromptAgent
  /** Null is "no inputs given". */
  readonly inputs: readonly Json[] | null
  readonly options: JsonObject
}

/** The request for an agent that may be a script or a prompt file, which gets its inputs as text. */
export function requestFor(
  { agent, inputs, options }: AgentCall,
  asPrompt: (input: Json) => PromptInput,
): ScriptRequest | PromptRequest {
  if (agent.kind !== 'prompt') return { kind: 'script', agent, inputs, options }
  const given = inputs === null || inputs.length === 0 ? [null] : inputs
  return { kind: 'prompt', agent, inputs: given.map(asPrompt), options }
}
