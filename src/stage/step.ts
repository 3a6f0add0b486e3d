import { failedInput } from '../agent/failed-input.ts'
import { requestFor } from '../agent/prompt-agent.ts'
import { chainPromptInput } from '../agent/prompt-input.ts'
import { BatonError, isBatonError, rewordError, stopsRun } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import { below, type RunContext } from '../event/context.ts'
import { type Part, runPart } from '../event/part.ts'
import { type ChainAnswer, readAnswer } from './answer.ts'
import type { ChainAgent, ChainCall } from './chain.ts'
import { chainInput, type StepRecord } from './input.ts'
import { readTextAnswer, type TextAnswer, textAnswerOf } from './text-answer.ts'

export interface Step {
  readonly config: AgentConfig
  readonly agent: ChainAgent
  readonly next: readonly AgentConfig[]
  readonly previous: readonly StepRecord[]
  /** From 0. */
  readonly step: number
}

/**
 * Runs one sub-agent of a chain and reads what it returned. The step is recorded whole.
 * @throws BatonError AGENT_FAILED naming the sub-agent, at the place in its file
 */
export async function runStep(call: ChainCall, step: Step, context: RunContext): Promise<ChainAnswer> {
  const { config, agent } = step
  const { stage, state, promptDir, redoCount } = call
  // a chain that gave up the right to write gave it up for the agents after it, too
  const rights = state.params['write_mode'] === false ? { mayWrite: false } : {}
  const at = { ...below(context, `${step.step}:${config.name}`), ...rights }
  const extra = call.content === undefined ? call.extra : withContent(call.extra, call.content)
  const { previous, next } = step
  const input = chainInput({ stage, config, state, previous, next, promptDir, redoCount, extra })
  const { coder_params: params, coder_prompts: prompts, coder_prompt: _, ...others } = input
  const part: Part<Json> = {
    label: config.name,
    work: (inner) => runAgent({ input, step }, inner),
    inputs: { params, prompts, input: others, options: config.options, agent: agent.text },
  }
  const value = await runPart(part, at)
  try {
    return agent.kind === 'prompt'
      ? await readTextAnswer(config, stage, value as TextAnswer | null)
      : readAnswer(config.name, value)
  } catch (error) {
    throw placed(error, agent.file)
  }
}

async function runAgent(
  { input, step: { agent, config } }: { readonly input: JsonObject; readonly step: Step },
  at: RunContext,
): Promise<Json> {
  try {
    const request = requestFor({ agent, inputs: [input], options: config.options }, () => chainPromptInput(input))
    const result = await at.agents.run(request, at)
    if (agent.kind === 'prompt') return textAnswerOf(result) as Json
    const failure = failedInput(result)
    if (failure !== undefined) throw new BatonError('SCRIPT_FAILED', failure)
    return result.afterAll ?? result.outputs[0] ?? null
  } catch (error) {
    at.signal.throwIfAborted()
    throw failed(error, config, agent.file)
  }
}

function withContent(extra: JsonObject, content: string): JsonObject {
  const response = extra['ai_response']
  return { ...extra, ai_response: { ...(response as JsonObject | undefined), content } }
}

/** An agent that fails is the failure of its sub-agent; the place in its file and the cause's exit code stay. */
function failed(error: unknown, { name }: AgentConfig, file: string): unknown {
  if (!isBatonError(error) || stopsRun(error)) return error
  const message = `Sub-agent [${name}] failed: ${error.message}`
  return rewordError(error, { code: 'AGENT_FAILED', message, place: error.place ?? { file } })
}

function placed(error: unknown, file: string): unknown {
  return isBatonError(error) ? rewordError(error, { place: error.place ?? { file } }) : error
}
