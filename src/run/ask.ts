import type { Settings } from '../config/settings.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import { type AgentAnswer, askAgent } from './agent-answer.ts'
import type { TaskAnswer } from './answer.ts'
import { applyText, answered } from './apply-answer.ts'
import type { FileSet } from './files.ts'
import { keepAnswer } from './given-answer.ts'
import { askMain } from './main-agent.ts'
import { withModelPlace } from './model-place.ts'
import { fitting, type OutputSchema } from './output-schema.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'

export interface Asked {
  readonly plan: TaskPlan
  readonly settings: Settings
  /** After the `pre_task` chain. */
  readonly state: ChainState
  readonly files: FileSet
  /** What a caller gives a file that is run as an agent: a message before the instruction. */
  readonly inputText: string
}

/** Gets the answer of one task: from the agent that `agent` names, else from the built-in main agent (DESIGN 4). */
export async function ask(asked: Asked, target: PromptTarget, context: RunContext): Promise<TaskAnswer> {
  const { answerAgent: agent, output, spec, vars } = target
  if (agent === undefined) {
    const question = { ...asked, instruction: instructionOf(asked.state), output }
    return withModelPlace(asked.settings, spec, () => askMain(question, context))
  }

  const mayWrite = context.mayWrite !== false && asked.settings.write_mode
  const answer = await askAgent({ ...asked, agent, spec, vars }, { ...below(context, 'ask'), mayWrite })
  return keepAnswer(
    () => answer,
    () => useAgentAnswer(answer, { ...asked, output, name: agent.name }, context),
  )
}

interface AgentUse extends Pick<Asked, 'settings'> {
  readonly output: OutputSchema | undefined
  readonly name: string
}

function useAgentAnswer(
  { text, fileChanges, response, spent }: AgentAnswer,
  { settings, output, name }: AgentUse,
  context: RunContext,
): TaskAnswer {
  const plain = { text, response, fileChanges: [], spent }
  if (context.dry !== undefined) return plain
  if (output !== undefined) return { ...plain, ...fitting(text, output, `agent "${name}" answered`) }
  if (fileChanges === undefined) return plain
  if (!settings.write_mode) {
    const hint = 'Set write_mode = true to carry them out.'
    emit(context, { type: 'warning', message: `the file changes of agent "${name}" are not carried out`, hint })
    return plain
  }
  // what the agent saw of the files is its own business
  const outcome = applyText(fileChanges, { settings, shown: undefined }, below(context, 'changes'))
  if (outcome.kind === 'applied' && outcome.items.length === 0 && fileChanges.trim() !== '') {
    const hint = `Write them in the form of file_content_mode = "${settings.file_content_mode}".`
    emit(context, { type: 'warning', message: `no change is in the file_changes of agent "${name}"`, hint })
  }
  return { ...answered(outcome, spent), text, response }
}
