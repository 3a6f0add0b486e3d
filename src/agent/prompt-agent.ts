import type { Json, JsonObject } from '../base/json.ts'
import type { AgentRequest, AgentResult, PromptAgent, PromptInput, PromptRequest, ScriptAgent } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { descend } from './lineage.ts'
import type { AgentParts } from './parts.ts'

/**
 * Runs a prompt file below the place of its caller, once for each input. How a prompt file is run is the business of
 * run/, so that function is handed down (DESIGN 2 rule 1).
 * @throws BatonError AGENT_CYCLE, LIMIT, and whatever ends a run of the file
 */
export function runPromptAgent(request: PromptRequest, parts: AgentParts, context: RunContext): Promise<AgentResult> {
  const values = request.inputs.map(({ value }) => value)
  return parts.runPromptFile(request, descend(request.agent, values, context))
}

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
): AgentRequest {
  if (agent.kind !== 'prompt') return { agent, inputs, options }
  const given = inputs === null || inputs.length === 0 ? [null] : inputs
  return { agent, inputs: given.map(asPrompt), options }
}
