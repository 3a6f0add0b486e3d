import { displayPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { RunContext } from '../event/context.ts'
import type { Ending } from './ending.ts'
import type { GivenInputs } from './inputs.ts'
import type { AgentTarget, Target } from './target.ts'
import { runTarget } from './target-run.ts'
import type { TaskOutcome } from './task.ts'

export interface Execution {
  readonly context: RunContext
  /** Tasks whose outcome is final, for the ending of a run that fails later. */
  readonly finished: TaskOutcome[]
  /** Hides secrets in what is written. */
  readonly hide: (text: string) => string
  /** Lowers the limits of what the rest of a round may cost. */
  readonly limitBudget: (budget: Settings['budget']) => void
}

/** Runs a target to its end; answers and outputs are events as soon as they are final. Throws when the run fails. */
export async function execute(target: Target, inputs: GivenInputs, execution: Execution): Promise<Ending> {
  if (target.kind === 'agent') return executeAgent(target, inputs, execution.context)
  const { executePrompt } = await import('./execute-prompt.ts')
  return executePrompt(target, inputs, execution)
}

async function executeAgent(
  { agent, reload, flagOptions }: AgentTarget,
  inputs: GivenInputs,
  context: RunContext,
): Promise<Ending> {
  const onOutput = (output: Json): void => context.events([], { type: 'output', output })
  const { stopReason, outputs, failedInputs, skipReason } = await runTarget(
    { load: reload, inputs, options: flagOptions, onOutput },
    context,
  )
  if (stopReason !== 'skipped') return { stopReason: failedInputs > 0 ? 'error' : 'done', tasks: [], outputs }
  const reason = skipReason ?? 'the agent skipped this run'
  return {
    stopReason,
    tasks: [],
    outputs,
    skipped: { reason, hint: `See ${displayPath(context.workspace, agent.file)}.` },
  }
}
