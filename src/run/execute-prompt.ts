import { BatonError } from '../base/error.ts'
import type { Settings } from '../config/settings.ts'
import type { Ending } from './ending.ts'
import type { Execution } from './execute.ts'
import { type GivenInputs, textInputs } from './inputs.ts'
import { keepTranscript } from './transcript.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TaskOutcome } from './task.ts'

/** Runs a prompt file to its end, and keeps its transcript; see `execute`. */
export async function executePrompt(
  target: PromptTarget,
  given: GivenInputs,
  { context, finished, hide }: Execution,
): Promise<Ending> {
  const failed: TaskOutcome[] = []
  const keep = (): void => keepTranscript(target, { outcomes: [...finished, ...failed], hide }, context)
  try {
    const outcome = await runPrompt(
      {
        target,
        inputs: textInputs(given),
        onOutcome: (task, count) => {
          finished.push(task)
          if (task.status !== 'done') return
          const { index, label, content: text } = task
          context.services.events([], { type: 'answer', index, count, label, text })
        },
        onFailure: (task) => failed.push(task),
      },
      context,
    )
    keep()
    return promptEnding(outcome, target.settings)
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

function promptEnding(outcome: PromptOutcome, { changes }: Settings): Ending {
  if (outcome.status === 'skipped') {
    const { reason, hint } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint } }
  }
  if (outcome.status === 'suspended') {
    return { stopReason: 'suspended', tasks: outcome.outcomes, outputs: [], error: outcome.error }
  }
  const { outcomes: tasks } = outcome
  if (tasks.some(({ status }) => status === 'failed')) return { stopReason: 'error', tasks, outputs: [] }
  const leftOut = tasks.reduce((sum, task) => sum + (task.status === 'done' ? (task.leftOut ?? 0) : 0), 0)
  if (leftOut === 0 || changes.partial_is_success) return { stopReason: 'done', tasks, outputs: [] }
  const what = leftOut === 1 ? 'a file change was left out' : `${leftOut} file changes were left out`
  const hint = 'With partial = true the others are applied. Set partial_is_success = true in [changes] to exit with 0.'
  const error = new BatonError('CHANGES_FAILED', `${what}: the answer is not applied as a whole`, { hint })
  return { stopReason: 'error', tasks, outputs: [], error, isFinal: true }
}
