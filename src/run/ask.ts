import { failedInput, requestFor, valueOfScript } from '../agent/agent-call.ts'
import { questionPromptInput } from '../agent/prompt-input.ts'
import { timeLimitOf, withTimeLimit } from '../agent/time-limit.ts'
import { BatonError, isBatonError, rewordError, stopsRun } from '../base/error.ts'
import { defined, equalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeValue } from '../settings/issue.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import type {
  PromptRequest,
  PromptResult,
  ScriptAgent,
  ScriptRequest,
  ScriptResult,
  TextAgent,
} from '../event/agent.ts'
import { below, type ContextWith, emit, type Gate, narrow, type RunContext } from '../event/context.ts'
import type { Spent } from '../event/meter.ts'
import { part } from '../event/place.ts'
import { placeOf } from '../prompt/document.ts'
import { type ChainState, instructionOf, variableInput } from '../stage/state.ts'
import { isUnusable, keepAnswer, notUsedAgain, responseOf, type TaskAnswer, unusableAnswer } from './answer.ts'
import { answered, applyText } from './apply-answer.ts'
import type { FileSet } from './files.ts'
import { askMain, writesFiles } from './main-agent.ts'
import { withModelPlace } from '../load/model-place.ts'
import { misfitOf, readStructured } from './structured-answer.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { questionOptions } from '../load/prompt-agents.ts'
import { limitsOfWriting } from '../load/limits.ts'

interface Asked {
  readonly plan: TaskPlan
  readonly settings: Settings
  /** After the `pre_task` chain. */
  readonly state: ChainState
  readonly files: FileSet
  /** From the caller of a file that is run as an agent: a message before the instruction. */
  readonly inputText: string
  /** Answers of other agents, which this one combines. */
  readonly members?: readonly JsonObject[]
}

/**
 * Gets the answer of one task: from the agent that `agent` names, else from the built-in main agent. A recorded answer
 * that proved unusable is not used again: the call is repeated with the current files.
 */
export async function ask(asked: Asked, target: PromptTarget, context: RunContext): Promise<TaskAnswer> {
  try {
    return await askOnce(asked, target, context)
  } catch (error) {
    if (!isUnusable(error) || !isForgotten(context)) throw error
    return askOnce(asked, target, context)
  }
}

/** Records that the answer is discarded. True if that was recorded before: then the answer is forgotten. */
function isForgotten({ scope, services: { effects } }: ContextWith<'at', Gate>): boolean {
  const parts = (['ask', 'changes', 'repair'] as const).map((name) => [...scope.at, part(name)])
  for (const place of parts) effects.undo(place)
  return parts.map((place) => effects.again(place)).includes(true)
}

async function askOnce(asked: Asked, target: PromptTarget, context: RunContext): Promise<TaskAnswer> {
  const { answerAgent: agent, answerOptions: options, output, spec, vars, stdin, roles, said, shell } = target
  if (agent === undefined) {
    const { model_aliases: aliases } = asked.settings
    const usesOwnAliases = !equalJson(aliases, target.settings.model_aliases)
    const { input } = asked.plan
    const question = {
      ...asked,
      instruction: instructionOf(asked.state),
      ...(target.inputsAreMessages && typeof input === 'string' && input.trim() !== '' ? { asked: input } : {}),
      output,
      stdin,
      usesOwnAliases,
      roles,
      said,
      shell,
    }
    const time = timeLimitOf({ own: undefined, whose: 'the model' }, context)
    return withModelPlace(asked.settings, spec, () => withTimeLimit(time, context, (timed) => askMain(question, timed)))
  }

  const inner = narrow(below(context, part('ask')), limitsOfWriting(asked.settings))
  const answer = await askAgent({ ...asked, agent, spec, vars, stdin, ...defined({ options }) }, inner)
  return keepAnswer(
    () => answer,
    () => useAgentAnswer(answer, { ...asked, output, name: agent.name }, context),
  )
}

async function useAgentAnswer(
  { text, fileChanges, response, spent }: AgentAnswer,
  { settings, output, name }: Pick<Asked, 'settings'> & Pick<PromptTarget, 'output'> & { readonly name: string },
  context: RunContext,
): Promise<TaskAnswer> {
  const plain = { text, response, fileChanges: [], spent }
  const { dry } = context.scope
  if (dry === 'req' || dry === 'res') return plain
  if (output !== undefined) {
    const read = await readStructured(text, output, context.services.signal)
    if (read.kind === 'wrong') throw unusableAnswer(misfitOf(read.problems, `agent "${name}" answered`))
    return { ...plain, text: read.text, value: read.value }
  }
  if (fileChanges === undefined) return plain
  if (!writesFiles(settings, context.scope.rights)) {
    const hint = 'Set write_mode = true to apply them.'
    emit(context, { type: 'warning', message: `the file changes of agent "${name}" are not applied`, hint })
    return plain
  }
  // which files the agent saw is not known
  const outcome = await applyText(
    { text: fileChanges, reasoning: '' },
    { settings, shown: undefined },
    below(context, part('changes')),
  )
  if (
    (outcome.kind === 'applied' || outcome.kind === 'planned') &&
    outcome.items.length === 0 &&
    fileChanges.trim() !== ''
  ) {
    const hint = `Write them in the format of file_content_mode = "${settings.file_content_mode}".`
    emit(context, { type: 'warning', message: `the file_changes of agent "${name}" contain no change`, hint })
  }
  const applied = answered(outcome, { spent: () => spent, calls: () => [] }, context.scope.folders)
  return { ...applied, text: outcome.kind === 'planned' && outcome.items.length > 0 ? applied.text : text, response }
}

export interface AgentAnswer {
  readonly text: string
  /** Changes in the format of `file_content_mode`. */
  readonly fileChanges?: string
  /** `ai_response` of `post_task` agents: the other fields that the agent returned, and `content`. */
  readonly response: JsonObject
  readonly spent: Spent
}

/**
 * Lets the agent that `agent` names answer a task instead of the built-in main agent. Its After All value, else its
 * first output, is the answer: text, or a table with `content` and optional `file_changes`. The answer of a prompt file
 * is its text.
 * @throws BatonError AGENT_FAILED naming the agent if it fails or its answer has another form
 */
export async function askAgent(question: AgentQuestion, context: RunContext): Promise<AgentAnswer> {
  const { agent } = question
  const { scope, services } = context
  const input = questionInput(question)
  const request = requestFor({ agent, inputs: [input], options: question.options ?? questionOptions(question) }, () =>
    questionPromptInput(input),
  )
  const { value, spent } = await services.meter.measure(scope.at, () => runNamed(request, question, context))
  const { text, fileChanges, others } = readAnswer(value, agent, context)
  const response = { ...others, ...responseOf({ text, reasoning: '' }, spent) }
  return { text, response, spent, ...(fileChanges === undefined ? {} : { fileChanges }) }
}

async function runNamed(
  request: ScriptRequest | PromptRequest,
  { agent: { name, file }, spec }: Pick<AgentQuestion, 'agent' | 'spec'>,
  context: RunContext,
): Promise<ScriptResult | PromptResult> {
  try {
    return await context.services.agents.run(request, context)
  } catch (error) {
    context.services.signal.throwIfAborted()
    if (!isBatonError(error) || stopsRun(error)) throw error
    // the error of a command line already names it
    const message = error.message.startsWith(`agent "${name}" `)
      ? error.message
      : `agent "${name}" failed: ${error.message}`
    const isWritten = spec.frontMatter['agent'] !== undefined
    const from = isWritten ? await placeOf(spec.document, ['agent'], 'value') : undefined
    throw rewordError(error, { code: 'AGENT_FAILED', message, place: error.place ?? { file }, from })
  }
}

function readAnswer(
  result: ScriptResult | PromptResult,
  { name, file }: AgentQuestion['agent'],
  { scope: { dry } }: Pick<RunContext, 'scope'>,
): { readonly text: string; readonly fileChanges?: string; readonly others: JsonObject } {
  const failed = (what: string, hint: string): BatonError =>
    new BatonError('AGENT_FAILED', `agent "${name}" ${what}`, { place: { file }, hint })
  const wrong = (what: string, hint: string): BatonError => unusableAnswer(failed(what, hint))
  if (result.end === 'skipped' && dry === undefined) {
    throw wrong(`gave no answer: ${result.reason ?? 'it skipped itself'}`, 'It answers the task, so it cannot skip.')
  }
  if (result.kind === 'prompt') return { text: result.end === 'done' ? result.text : '', others: {} }
  const failure = failedInput(result)
  if (failure !== undefined) throw notUsedAgain(failed(`failed: ${failure}`, 'See its file.'))

  const value = valueOfScript(result)
  if (typeof value === 'string') return { text: value, others: {} }
  // in a dry run the program that would answer is not run
  if (value === null && dry !== undefined) return { text: '', others: {} }
  const { content, file_changes: fileChanges = null, ...others } = isJsonObject(value) ? value : {}
  const hint = 'Return text, or { content = "…", file_changes = "…" }.'
  if (typeof content !== 'string') {
    throw wrong(`returned ${isJsonObject(value) ? 'a table without text in "content"' : describeAnswer(value)}`, hint)
  }
  if (fileChanges !== null && typeof fileChanges !== 'string') {
    throw wrong(`returned file_changes that are ${describeAnswer(fileChanges)}, not text`, hint)
  }
  return { text: content, others, ...(fileChanges === null ? {} : { fileChanges }) }
}

function describeAnswer(value: Json): string {
  return value === null ? 'nothing' : describeValue(value)
}

export interface AgentQuestion extends Pick<Asked, 'plan' | 'state' | 'files' | 'members'> {
  /** The agent that `agent` of the front matter names. */
  readonly agent: ScriptAgent | TextAgent
  readonly spec: RunSpec
  /** Its settings; default: what the file says about its model. */
  readonly options?: JsonObject
  /** The values of its `[input]` variables. */
  readonly vars?: JsonObject | undefined
  readonly stdin?: string | undefined
}

function questionInput({ spec, vars, stdin, plan, state, files, members }: AgentQuestion): JsonObject {
  const { sub_agents: _, ...params } = state.params
  const { index, count, label, input, working } = plan
  return {
    _display: label,
    prompt_file: spec.source === 'file' ? spec.file : null,
    ...variableInput({ vars }),
    instruction: instructionOf(state),
    prompts: state.prompts,
    params,
    input,
    task: { index, count, label },
    files: { context: files.context, knowledge: files.knowledge, structure: files.structure, working },
    ...defined({ stdin, members }),
  }
}
