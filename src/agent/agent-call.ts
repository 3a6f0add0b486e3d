import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { PromptInput, PromptRequest, ScriptAgent, ScriptRequest, ScriptResult, TextAgent } from '../event/agent.ts'

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

/**
 * Why a script with a single input failed, if its options let the other inputs of a list continue: then no error was
 * thrown. Undefined if it did not fail, or if its After All returned a value anyway.
 */
export function failedInput(result: ScriptResult): string | undefined {
  if (result.end !== 'done' || result.failedInputs === 0 || result.afterAll !== undefined) return undefined
  const [output] = result.outputs
  const message = isJsonObject(output) ? output['error'] : undefined
  return typeof message === 'string' ? message : 'its input failed'
}

/** The result of a script agent: the value of After All, else its first output; null if there is neither. */
export function valueOfScript(result: ScriptResult): Json {
  if (result.end === 'skipped') return null
  const first = result.outputs[0] ?? null
  return result.end === 'done' ? (result.afterAll ?? first) : first
}
