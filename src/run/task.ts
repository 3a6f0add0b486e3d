import type { Json } from '../base/json.ts'
import type { PromptInput } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { Settings } from '../config/settings.ts'
import { type ChainServices, runChain } from '../stage/chain.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import type { Spent, TaskAnswer } from './answer.ts'
import type { RefusedAnswer } from './apply-answer.ts'
import { ask } from './ask.ts'
import type { FileSet } from './files.ts'
import { renderInstruction } from './instruction.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'

/** How a task ended. Plain JSON: it is recorded as the task's boundary. */
export type TaskOutcome = {
  readonly index: number
  readonly label: string
  readonly agentResult: Json
} &
  /** `value`: the parsed answer of a file with `[output]`. */
  (
    | { readonly status: 'done'; readonly content: string; readonly value?: Json; readonly spent: Spent }
    | { readonly status: 'skipped'; readonly reason: string }
    /** `answer`: what the model said, where only its file changes failed. */
    | { readonly status: 'failed'; readonly error: ErrorInfo; readonly answer?: RefusedAnswer }
  )

/** Why a run or task without an instruction does nothing (R255, TV31). */
export const emptyInstruction = 'the instruction is empty'

/** What all tasks of one round share. */
export interface Round {
  readonly target: PromptTarget
  readonly state: ChainState
  readonly redoCount: number
  readonly services: ChainServices
  /** What a caller gives a file that is run as an agent. */
  readonly given: PromptInput | undefined
  /** Lists the files of settings; equal settings are listed once. */
  readonly filesOf: (settings: Settings) => FileSet
}

/** One task: `pre_task` chain, ask, `post_task` chain (DESIGN 2). Throws when any of them fails. */
export async function runTask(plan: TaskPlan, round: Round, context: RunContext): Promise<TaskOutcome> {
  const { index, label } = plan
  const call = { agents: round.target.spec.agents, promptDir: round.target.spec.promptDir, redoCount: round.redoCount }
  const task = { input: plan.input ?? round.given?.value ?? null, task: { index, count: plan.count, label } }

  const before = await runChain(
    { ...call, stage: 'pre_task', state: round.state, extra: task },
    round.services,
    context,
  )
  if (instructionOf(before.state).trim() === '') {
    return { status: 'skipped', index, label, reason: emptyInstruction, agentResult: null }
  }

  const settings = round.target.settingsFor(before.state.params)
  const files = round.filesOf(settings)
  const { template } = settings
  const state = template ? await fillTemplate(before.state, { plan, files }, round) : before.state
  const answer = await ask(
    { plan, settings, state, files, inputText: template ? '' : (round.given?.text ?? '') },
    round.target,
    context,
  )
  const done = { status: 'done', index, label, spent: answer.spent, ...valueOf(answer) } as const
  if (context.dry !== undefined) return { ...done, content: answer.text, agentResult: null }
  const extra = { ...task, ai_response: answer.response, file_changes: answer.fileChanges }
  const after = await runChain(
    { ...call, stage: 'post_task', state, content: answer.text, extra },
    round.services,
    context,
  )
  return { ...done, content: after.content ?? answer.text, agentResult: after.agentResult ?? null }
}

interface TemplateFacts {
  readonly plan: TaskPlan
  readonly files: FileSet
}

/** What templates see: `{ input, data: { files, task }, params }` (DESIGN 4). */
function fillTemplate(
  state: ChainState,
  { plan, files }: TemplateFacts,
  { target, given }: Round,
): Promise<ChainState> {
  const { index, count, label, working } = plan
  const { context, knowledge, structure } = files
  const paths = (refs: FileSet['context']): Json => refs.map(({ path }) => path)
  return renderInstruction(state, target.spec.document, {
    input: plan.input ?? given?.value ?? null,
    data: {
      files: { context: paths(context), knowledge: paths(knowledge), structure, working: paths(working) },
      task: { index, count, label },
    },
    params: state.params,
  })
}

/** The parsed answer of a file with `[output]`, when there is one. */
export function valueOf({ value }: Pick<TaskAnswer, 'value'>): { readonly value?: Json } {
  return value === undefined ? {} : { value }
}
