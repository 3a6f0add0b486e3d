import { failedInput } from '../agent/failed-input.ts'
import { requestFor } from '../agent/prompt-agent.ts'
import { questionPromptInput } from '../agent/prompt-input.ts'
import { BatonError, isBatonError, rewordError, stopsRun } from '../base/error.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue } from '../config/describe.ts'
import type { AgentRequest, AgentResult } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { placeOf } from '../prompt/document.ts'
import { type AgentQuestion, questionInput, questionOptions } from './agent-question.ts'
import { responseOf, type Spent } from './answer.ts'
import { withOwnMeter } from './own-meter.ts'

export interface AgentAnswer {
  readonly text: string
  /** Changes in the form that `file_content_mode` says. */
  readonly fileChanges?: string
  /** `ai_response` of `post_task` agents: what the agent returned beside, and `content`. */
  readonly response: JsonObject
  readonly spent: Spent
}

/**
 * Lets the agent that `agent` names answer a task in place of the built-in main agent (DESIGN 4). Its After All value,
 * else its first output, is the answer: text, or a table with `content` and optional `file_changes`. A prompt file
 * answers its text.
 * @throws BatonError AGENT_FAILED naming the agent when it fails or answers something else
 */
export async function askAgent(question: AgentQuestion, context: RunContext): Promise<AgentAnswer> {
  const { agent } = question
  const { context: metered, spent } = withOwnMeter(context)
  const input = questionInput(question)
  const request = requestFor({ agent, inputs: [input], options: questionOptions(question) }, () =>
    questionPromptInput(input),
  )
  const result = await runNamed(request, question, metered)
  const { text, fileChanges, others } = readAnswer(result, agent, context)
  const response = { ...others, ...responseOf(text, spent()) }
  return { text, response, spent: spent(), ...(fileChanges === undefined ? {} : { fileChanges }) }
}

async function runNamed(
  request: AgentRequest,
  { agent: { name, file }, spec }: Pick<AgentQuestion, 'agent' | 'spec'>,
  context: RunContext,
): Promise<AgentResult> {
  try {
    return await context.agents.run(request, context)
  } catch (error) {
    context.signal.throwIfAborted()
    if (!isBatonError(error) || stopsRun(error)) throw error
    const message = `agent "${name}" failed: ${error.message}`
    const isWritten = spec.frontMatter['agent'] !== undefined
    const from = isWritten ? await placeOf(spec.document, ['agent'], 'value') : undefined
    throw rewordError(error, { code: 'AGENT_FAILED', message, place: error.place ?? { file }, from })
  }
}

/** What an agent returned as the answer of a task. */
interface Answered {
  readonly text: string
  readonly fileChanges?: string
  /** Further fields of a table. */
  readonly others: JsonObject
}

function readAnswer(result: AgentResult, { name, kind, file }: AgentQuestion['agent'], { dry }: RunContext): Answered {
  const wrong = (what: string, hint: string): BatonError =>
    new BatonError('AGENT_FAILED', `agent "${name}" ${what}`, { place: { file }, hint })
  if (result.stopReason === 'skipped' && dry === undefined) {
    throw wrong(
      `gave no answer: ${result.skipReason ?? 'it skipped itself'}`,
      'It answers the task, so it cannot skip.',
    )
  }
  if (kind === 'prompt') return { text: result.text, others: {} }
  const failure = failedInput(result)
  if (failure !== undefined) throw wrong(`failed: ${failure}`, 'See its file.')

  const value = result.afterAll ?? result.outputs[0] ?? null
  if (typeof value === 'string') return { text: value, others: {} }
  // a dry run leaves out what would answer
  if (value === null && dry !== undefined) return { text: '', others: {} }
  const { content, file_changes: fileChanges = null, ...others } = isJsonObject(value) ? value : {}
  const hint = 'Return text, or { content = "…", file_changes = "…" }.'
  if (typeof content !== 'string') {
    throw wrong(`answered ${isJsonObject(value) ? 'a table without text in "content"' : describeAnswer(value)}`, hint)
  }
  if (fileChanges !== null && typeof fileChanges !== 'string') {
    throw wrong(`answered file_changes that are ${describeAnswer(fileChanges)}, not text`, hint)
  }
  return { text: content, others, ...(fileChanges === null ? {} : { fileChanges }) }
}

function describeAnswer(value: Json): string {
  return value === null ? 'nothing' : describeValue(value)
}
