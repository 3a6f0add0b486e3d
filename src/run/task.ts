import { equalJson, type Json, type JsonObject } from '../base/json.ts'
import type { PromptInput } from '../event/agent.ts'
import { narrow, type RunContext } from '../event/context.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { Settings } from '../config/settings.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, instructionOf, variableInput } from '../stage/state.ts'
import type { Spent } from '../event/meter.ts'
import { type GivenAnswer, keepAnswer, type TaskAnswer } from './answer.ts'
import { tellLeftOut } from './apply-answer.ts'
import { ask } from './ask.ts'
import type { FileSet } from './files.ts'
import { renderInstruction } from './instruction.ts'
import { strategyOf } from './strategies.ts'
import { fitting } from './structured-answer.ts'
import type { TaskPlan } from './plan.ts'
import type { WorkDone } from './work-done.ts'
import type { PromptTarget } from './prompt-target.ts'

/** How a task ended. Plain JSON, because it is recorded as the task's boundary. */
export type TaskOutcome = {
  readonly index: number
  readonly label: string
  readonly agentResult: Json
  /** Of a task of an iteration: all its work, including that of its sub-agents. */
  readonly work?: WorkDone
} &
  /** `value`: the parsed answer of a file with `[output]`. */
  (
    | {
        readonly status: 'done'
        readonly content: string
        readonly value?: Json
        readonly spent: Spent
      }
    | { readonly status: 'skipped'; readonly reason: string }
    /** `answer`: the answer of the model, if something failed after it. */
    | { readonly status: 'failed'; readonly error: ErrorInfo; readonly answer?: GivenAnswer }
    | { readonly status: 'suspended'; readonly error: ErrorInfo }
  )

/** Why a run or task without an instruction does nothing (R255, TV31). */
export const emptyInstruction = 'the instruction is empty'

/** What all tasks of a round share. */
export interface Round {
  readonly target: PromptTarget
  readonly state: ChainState
  readonly redoCount: number
  readonly services: ChainServices
  readonly given: PromptInput | undefined
  /** Lists the files of settings; equal settings are listed once. */
  readonly filesOf: (settings: Settings) => Promise<FileSet>
  /** The same for a different workspace, that of the context. */
  readonly filesIn: (settings: Settings, context: RunContext) => Promise<FileSet>
  /** How an iteration changes the instruction of a task; undefined: not at all. */
  readonly promptOf?: (instruction: string) => string
}

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
  const context = withoutGivenUp(around, {
    before: { params: round.state.params, budget: target.settingsFor(round.state.params).budget },
    after: { params: before.state.params, budget: settings.budget },
  })
  const files = await round.filesOf(settings)
  const { template } = settings
  const state = template
    ? await fillTemplate(before.state, { plan, files }, round, context.services.signal)
    : before.state
  const inputText = template ? '' : (round.given?.text ?? '')
  const strategy = strategyOf(settings)
  const { filesOf, filesIn } = round
  const answer =
    strategy === undefined
      ? await ask({ plan, settings, state: framed(state, round), files, inputText }, target, context)
      : await strategy.answer(
          { target, plan, state, settings, files, inputText, input: inputOf(plan, round), filesOf, filesIn },
          context,
        )
  if (strategy?.hasSteps !== true) tellLeftOut(answer, settings, context)
  const done = { status: 'done', index, label, spent: answer.spent } as const
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

interface Held extends Pick<Settings, 'budget'> {
  readonly params: JsonObject
}

/** The context without the tools and the part of the budget that a chain has given up. */
export function withoutGivenUp(
  context: RunContext,
  { before, after }: { readonly before: Held; readonly after: Held },
): RunContext {
  const { tools } = after.params
  const hasFewer = Array.isArray(tools) && !equalJson(tools, before.params['tools'])
  const hasLess = !equalJson(before.budget as Json, after.budget as Json)
  if (!hasFewer && !hasLess) return context
  return narrow(context, {
    ...(hasFewer ? { tools: { tools: tools.map(String) } } : {}),
    ...(hasLess ? { budget: after.budget } : {}),
  })
}

/** The prompt of an iteration is one segment, because agents must not change the texts around it. */
function framed(state: ChainState, { promptOf }: Round): ChainState {
  return promptOf === undefined ? state : { ...state, prompts: [promptOf(instructionOf(state))] }
}

/** Whether there is nothing to do (R255, TV31); steps have instructions of their own. */
export function isWithoutWork(
  state: ChainState,
  { settings, inputsAreMessages }: Pick<PromptTarget, 'settings' | 'inputsAreMessages'>,
): boolean {
  return strategyOf(settings)?.hasSteps !== true && inputsAreMessages !== true && instructionOf(state).trim() === ''
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
