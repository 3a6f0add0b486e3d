import { displayPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { RunContext } from '../event/context.ts'
import type { Ending } from './ending.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { GivenInputs } from './inputs.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { AgentTarget, Target } from './target.ts'
import { keepTranscript } from './keep-transcript.ts'
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
export function execute(target: Target, inputs: GivenInputs, execution: Execution): Promise<Ending> {
  return target.kind === 'prompt'
    ? executePrompt(target, inputs, execution)
    : executeAgent(target, inputs, execution.context)
}

async function executePrompt(
  target: PromptTarget,
  { texts }: GivenInputs,
  { context, finished, hide, limitBudget }: Execution,
): Promise<Ending> {
  const failed: TaskOutcome[] = []
  const keep = (): void => keepTranscript(target, { outcomes: [...finished, ...failed], hide }, context)
  try {
    const outcome = await runPrompt(
      {
        target,
        inputs: texts,
        onBudget: limitBudget,
        onOutcome: (task, count) => {
          finished.push(task)
          if (task.status !== 'done') return
          context.events([], { type: 'answer', index: task.index, count, label: task.label, text: task.content })
        },
        onFailure: (task) => failed.push(task),
      },
      context,
    )
    keep()
    return promptEnding(outcome)
  } catch (error) {
    // the run has failed for this reason, whatever else goes wrong now
    try {
      keep()
    } catch {
      // nothing more can be done
    }
    throw error
  }
}

function promptEnding(outcome: PromptOutcome): Ending {
  if (outcome.status === 'skipped') {
    const { reason, hint } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint } }
  }
  const failed = outcome.outcomes.some(({ status }) => status === 'failed')
  return { stopReason: failed ? 'error' : 'done', tasks: outcome.outcomes, outputs: [] }
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
