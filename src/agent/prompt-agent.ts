import type { Json, JsonObject } from '../base/json.ts'
import type { PromptInput, PromptRequest, ScriptAgent, ScriptRequest, TextAgent } from '../event/agent.ts'

export interface AgentCall {
  readonly agent: ScriptAgent | TextAgent
  /** Null means "no inputs given". */
  readonly inputs: readonly Json[] | null
  readonly options: JsonObject
}

/** The request for an agent. An agent that answers with text gets its inputs as text. */
export function requestFor(
  { agent, inputs, options }: AgentCall,
  asPrompt: (input: Json) => PromptInput,
): ScriptRequest | PromptRequest {
  if (isScript(agent)) return { kind: 'script', agent, inputs, options }
  const given = inputs === null || inputs.length === 0 ? [null] : inputs
  return { kind: 'prompt', agent, inputs: given.map(asPrompt), options }
}

export function isScript(agent: ScriptAgent | TextAgent): agent is ScriptAgent {
  return agent.kind === 'aip' || agent.kind === 'lua'
}
