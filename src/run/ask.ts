import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { below, type RunContext } from '../event/context.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import { askAgent } from './agent-answer.ts'
import type { TaskAnswer } from './answer.ts'
import { applyText, answered } from './apply-answer.ts'
import type { FileSet } from './files.ts'
import { askMain } from './main-agent.ts'
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
  const { answerAgent: agent } = target
  const protectedPaths = protectedPathsOf(target)
  if (agent === undefined) {
    const { output } = target
    return askMain({ ...asked, instruction: instructionOf(asked.state), output, protectedPaths }, context)
  }
  const answer = await askAgent({ ...asked, agent, spec: target.spec }, below(context, 'ask'))
  const { text, fileChanges, response, spent } = answer
  const { settings } = asked
  if (fileChanges === undefined || !settings.write_mode || context.dry !== undefined) {
    return { text, response, fileChanges: [], spent }
  }
  const editing = { settings, protectedPaths, shown: new Map<string, string>() }
  const outcome = applyText(fileChanges, editing, below(context, 'changes'))
  return { ...answered(fileChanges, outcome, spent), text, response }
}

/** What says what runs, and with which rights (DESIGN 9 "Sandbox"): a model's changes never reach it. */
function protectedPathsOf({ workspace, spec, agents }: PromptTarget): readonly string[] {
  const config = ['.baton', '.aipack', 'baton.toml', '.mcp.json'].map((name) => join(workspace, name))
  return [...config, spec.file, ...agents.map(({ file }) => file)]
}
