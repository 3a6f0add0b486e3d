import { type Ending, suspensionReason } from './ending.ts'
import type { Execution } from './execute.ts'
import { type GivenInputs, textInputs } from '../load/inputs.ts'
import { keepTranscript } from './transcript.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TaskOutcome } from './strategy.ts'

/** Runs a prompt file to its end and keeps its transcript; see `execute`. */
export async function executePrompt(
  target: PromptTarget,
  given: GivenInputs,
  { context, finished, hide, strategies }: Execution,
): Promise<Ending> {
  const failed: TaskOutcome[] = []
  const keep = (): void => keepTranscript(target, { outcomes: [...finished, ...failed], hide }, context)
  const tell = (task: TaskOutcome, count: number): void => {
    const text = resultOf(task)
    if (text === undefined) return
    const { index, label } = task
    context.services.events([], { type: 'answer', index, count, label, text })
  }
  try {
    const outcome = await runPrompt(
      {
        target,
        strategies,
        inputs: textInputs(given),
        onOutcome: (task, count) => {
          finished.push(task)
          tell(task, count)
        },
        onFailure(task, count) {
          failed.push(task)
          tell(task, count)
        },
      },
      context,
    )
    keep()
    return promptEnding(outcome)
  } catch (error) {
    // report the original error, even if keeping the transcript fails, too
    try {
      keep()
    } catch {
      // the original error is thrown below
    }
    throw error
  }
}

/** The printed result of a task; of a workflow in which some steps failed, the result of the others. */
function resultOf(task: TaskOutcome): string | undefined {
  if (task.status === 'done') return task.content
  return task.status === 'failed' && task.answer?.isResult === true ? task.answer.text : undefined
}

function promptEnding(outcome: PromptOutcome): Ending {
  if (outcome.status === 'skipped') {
    const { reason, hint } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint } }
  }
  if (outcome.status === 'suspended') {
    const { outcomes: tasks, error } = outcome
    return { stopReason: suspensionReason(error), tasks, outputs: [], error }
  }
  const { outcomes: tasks, repeated } = outcome
  const { gaveUp, unmet } = repeated ?? {}
  if (gaveUp !== undefined) return { stopReason: 'error', tasks, outputs: [], error: gaveUp, isFinal: true }
  if (unmet !== undefined) {
    return { stopReason: 'until_not_met', tasks, outputs: [], error: unmet.error, isFinal: true }
  }
  const isFailed = tasks.some(({ status }) => status === 'failed')
  // what was repeated to its end is not repeated again, even if it failed
  const isFinal = isFailed && repeated !== undefined
  return { stopReason: isFailed ? 'error' : 'done', tasks, outputs: [], ...(isFinal ? { isFinal } : {}) }
}
