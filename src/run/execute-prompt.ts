import type { Ending } from './ending.ts'
import type { Execution } from './execute.ts'
import type { GivenInputs } from './inputs.ts'
import { keepTranscript } from './keep-transcript.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TaskOutcome } from './task.ts'

/** Runs a prompt file to its end, and keeps its transcript; see `execute`. */
export async function executePrompt(
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
