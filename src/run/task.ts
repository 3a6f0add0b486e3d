import { defined, equalJson, type Json, type JsonObject } from '../base/json.ts'
import { narrow, type RunContext } from '../event/context.ts'
import type { Settings } from '../config/settings.ts'
import { runChain } from '../stage/chain.ts'
import { type ChainState, instructionOf, variableInput } from '../stage/state.ts'
import { keepAnswer, type TaskAnswer } from './answer.ts'
import { warnOfSkippedChanges } from './apply-answer.ts'
import { ask } from './ask.ts'
import type { FileSet } from './files.ts'
import { renderInstruction } from '../load/instruction.ts'
import { fitting } from './structured-answer.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { answeringStrategy, type Round, type TaskOutcome } from './strategy.ts'

/** Why a run or task without an instruction does nothing. */
export const emptyInstruction = 'the instruction is empty'

/** One task: `pre_task` chain, answer, `post_task` chain. Throws if any of them fails. */
export async function runTask(plan: TaskPlan, round: Round, around: RunContext): Promise<TaskOutcome> {
  const { index, label } = plan
  const call = { agents: round.target.spec.agents, promptDir: round.target.spec.promptDir, redoCount: round.redoCount }
  const { target } = round
  const task = { ...variableInput(target), input: inputOf(plan, round), task: { index, count: plan.count, label } }

  const before = await runChain({ ...call, stage: 'pre_task', state: round.state, extra: task }, round.services, around)
  if (isWithoutWork(before.state, target)) {
    return { status: 'skipped', index, label, reason: emptyInstruction, agentResult: null }
  }

  const settings = round.target.settingsFor(before.state.params)
  const context = withReducedRights(around, {
    before: { params: round.state.params, budget: target.settingsFor(round.state.params).budget },
    after: { params: before.state.params, budget: settings.budget },
  })
  const files = await round.filesOf(settings)
  const { template } = settings
  const state = template
    ? await fillTemplate(before.state, { plan, files }, round, context.services.signal)
    : before.state
  const inputText = template ? '' : (round.given?.text ?? '')
  const strategy = answeringStrategy(round.strategies, settings)
  const answer =
    strategy?.answer === undefined
      ? await askModel({ plan, settings, state: framed(state, round), files, inputText }, target, context)
      : await strategy.answer({ plan, settings, state, files, inputText, round }, context)
  const { spent, partial } = answer
  const done = { status: 'done', index, label, spent, ...defined({ partial }) } as const
  if (context.scope.dry !== undefined) return { ...done, ...valueOf(answer), content: answer.text, agentResult: null }
  const extra = { ...task, ai_response: answer.response, file_changes: answer.fileChanges }
  return keepAnswer(
    () => answer,
    async () => {
      const step = { ...call, stage: 'post_task', state, content: answer.text, extra } as const
      const after = await runChain(step, round.services, context)
      const content = after.content ?? answer.text
      return {
        ...done,
        ...(await reread(content, answer, round.target, context)),
        agentResult: after.agentResult ?? null,
      }
    },
  )
}

interface ChainRights extends Pick<Settings, 'budget'> {
  readonly params: JsonObject
}

/** The context without the tools and the part of the budget that a chain has given up. */
export function withReducedRights(
  context: RunContext,
  { before, after }: { readonly before: ChainRights; readonly after: ChainRights },
): RunContext {
  const { tools } = after.params
  const hasFewer = Array.isArray(tools) && !equalJson(tools, before.params['tools'])
  const hasLess = !equalJson(before.budget as Json, after.budget as Json)
  if (hasLess) context.services.limitCost(context.scope.at, after.budget)
  return hasFewer ? narrow(context, { tools: { tools: tools.map(String) } }) : context
}

/** The prompt of an iteration is one segment, because agents must not change the texts around it. */
function framed(state: ChainState, { promptOf }: Round): ChainState {
  return promptOf === undefined ? state : { ...state, prompts: [promptOf(instructionOf(state))] }
}

async function askModel(
  question: Parameters<typeof ask>[0],
  target: PromptTarget,
  context: RunContext,
): Promise<TaskAnswer> {
  const answer = await ask(question, target, context)
  warnOfSkippedChanges(answer, question.settings, context)
  return answer
}

/** Whether there is nothing to do; a strategy may have its own instructions. */
export function isWithoutWork(
  state: ChainState,
  { strategy, inputsAreMessages }: Pick<PromptTarget, 'strategy' | 'inputsAreMessages'>,
): boolean {
  return strategy?.row.hasInstructions !== true && inputsAreMessages !== true && instructionOf(state).trim() === ''
}

/** The answer after the `post_task` agents; it must still match `[output]`. */
async function reread(
  content: string,
  answer: TaskAnswer,
  { output }: PromptTarget,
  { services }: RunContext,
): Promise<{ readonly content: string; readonly value?: Json }> {
  if (content === answer.text) return { content, ...valueOf(answer) }
  if (output === undefined) return { content }
  const who = 'the post_task agents replaced the answer'
  const { text, value } = await fitting(content, output, { who, signal: services.signal })
  return { content: text, value }
}

interface TemplateFacts {
  readonly plan: TaskPlan
  readonly files: FileSet
}

/** The `-i` text, the working group, or the input from the caller of an agent. */
function inputOf(plan: TaskPlan, { given }: Pick<Round, 'given'>): Json {
  return plan.input ?? given?.value ?? null
}

/**
 * The data of templates: `{ input, data: { files, task }, params }`. `input` is the table of variables if `[input]`
 * declares them, else the input of the task, which is always available as `data.task.input`.
 */
function fillTemplate(
  state: ChainState,
  { plan, files }: TemplateFacts,
  round: Round,
  signal: AbortSignal,
): Promise<ChainState> {
  const { target } = round
  const { index, count, label, working } = plan
  const { context, knowledge, structure } = files
  const paths = (refs: FileSet['context']): Json => refs.map(({ path }) => path)
  const data = {
    input: target.vars ?? inputOf(plan, round),
    data: {
      files: { context: paths(context), knowledge: paths(knowledge), structure, working: paths(working) },
      task: { index, count, label, input: inputOf(plan, round) },
    },
    params: state.params,
  }
  return renderInstruction(state, target.spec.document, data, signal)
}

/** The parsed answer of a file with `[output]`, if there is one. */
export function valueOf({ value }: Pick<TaskAnswer, 'value'>): { readonly value?: Json } {
  return value === undefined ? {} : { value }
}
