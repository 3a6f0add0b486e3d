import { failedInput, requestFor, valueOfScript } from '../../agent/agent-call.ts'
import { BatonError } from '../../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import type { PromptInput } from '../../event/agent.ts'
import { narrow, type RunContext } from '../../event/context.ts'
import type { ChainAgent } from '../../stage/chain.ts'
import { warnOfSkippedChanges } from '../../run/apply-answer.ts'
import { ask } from '../../run/ask.ts'
import type { FileSet } from '../../run/files.ts'
import type { TaskPlan } from '../../run/plan.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { Request, StepInput } from './input.ts'
import { limitsOfWriting } from '../../load/limits.ts'

/** The result of an agent, or why it had nothing to do. */
export type StepResult =
  /** `changes`: the file changes of the main agent, applied or refused. */
  { readonly output: Json; readonly changes?: readonly JsonObject[] } | { readonly skipped: string }

export interface AgentCall {
  readonly agent: ChainAgent
  readonly options: JsonObject
  readonly given: StepInput
  readonly request: Request
  readonly target: PromptTarget
}

/**
 * Runs an agent of a step: an `.aip` or `.lua` file, or a prompt file. Its result is returned unchanged.
 * @throws BatonError if it fails
 */
export async function runStepAgent(call: AgentCall, context: RunContext): Promise<StepResult> {
  const { agent, options, given, target } = call
  const at = narrow(context, limitsOfWriting(target.settings))
  const request = requestFor({ agent, inputs: [given.value], options }, () => promptInput(call))
  const result = await at.services.agents.run(request, at)
  if (result.kind === 'prompt') {
    return result.end === 'skipped' ? { skipped: result.reason } : { output: result.value ?? result.text }
  }
  if (result.end === 'skipped') return { skipped: result.reason ?? 'the agent skipped itself' }
  const failure = failedInput(result)
  if (failure !== undefined) throw new BatonError('SCRIPT_FAILED', failure, { place: { file: agent.file } })
  return { output: valueOfScript(result) }
}

/** The input of a prompt file: its variables get fields of the value, the variables of this file, and its params. */
function promptInput({ given: { value, text }, request: { params, input } }: AgentCall): PromptInput {
  const fields = (of: Json): JsonObject => (isJsonObject(of) ? of : {})
  return {
    value,
    text,
    variables: { values: { ...params, ...fields(input), ...fields(value) }, others: 'ignored' },
  }
}

interface MainCall {
  readonly instructions: string
  readonly settings: Settings
  readonly params: JsonObject
  /** The text before the instructions. */
  readonly inputText: string
  readonly stdin: string | undefined
  readonly files: FileSet
  readonly label: string
  /** The schema for the answer of the file, if this step provides that answer. */
  readonly output: PromptTarget['output']
}

/**
 * Lets the main agent of the file answer the instructions of a step. File changes are applied like those of a task.
 * @throws BatonError if it fails
 */
export async function runMainStep(call: MainCall, target: PromptTarget, context: RunContext): Promise<StepResult> {
  const { settings, params, instructions, inputText, stdin, files, label, output } = call
  const plan: TaskPlan = { index: 0, count: 1, label, input: null, working: [] }
  const state = { params, prompts: [instructions] }
  const answer = await ask({ plan, settings, state, files, inputText }, { ...target, output, stdin }, context)
  warnOfSkippedChanges(answer, settings, context)
  const { text, value, fileChanges: changes } = answer
  return { output: value ?? text, ...(changes.length === 0 ? {} : { changes }) }
}
