import type { Json } from '../../src/base/json.ts'
import type {
  AgentExecutor,
  AgentRequest,
  AgentResult,
  PromptRequest,
  PromptResult,
  ScriptRequest,
  ScriptResult,
} from '../../src/event/agent.ts'
import { nothingSpent } from '../../src/event/meter.ts'

export function scriptDone(outputs: readonly Json[] = [], afterAll?: Json): Extract<ScriptResult, { end: 'done' }> {
  return { kind: 'script', end: 'done', outputs, failedInputs: 0, afterAll }
}

export function promptDone(text: string, value?: Json): PromptResult {
  return { kind: 'prompt', end: 'done', text, outputs: [value ?? text], value, spent: nothingSpent }
}

export function promptSkipped(reason = 'nothing to do'): PromptResult {
  return { kind: 'prompt', end: 'skipped', reason, spent: nothingSpent }
}

/** Agents that return results without doing anything. */
export function agentsGiving(
  resultOf: (request: ScriptRequest | PromptRequest) => ScriptResult | PromptResult,
): AgentExecutor {
  const run = async (request: AgentRequest): Promise<AgentResult> => {
    if (request.kind === 'model') throw new Error('no model answers here')
    return resultOf(request)
  }
  const refuse = (): Promise<never> => Promise.reject(new Error('no model answers here'))
  return { run: run as AgentExecutor['run'], open: refuse, converse: refuse }
}
