import { BatonError } from '../base/error.ts'
import { type Ending, suspensionReason } from './ending.ts'
import type { Execution } from './execute.ts'
import { type GivenInputs, textInputs } from '../load/inputs.ts'
import { keptFailing } from './iterate/ends.ts'
import type { IterateResult } from './iterate/record.ts'
import { keepTranscript } from './transcript.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TaskOutcome } from './task.ts'

/** Runs a prompt file to its end and keeps its transcript; see `execute`. */
export async function executePrompt(
  target: PromptTarget,
  given: GivenInputs,
  { context, finished, hide }: Execution,
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

/** The error of a prompt whose `until` was never met. */
export function neverMet({ iterations_attempted: count }: IterateResult): BatonError {
  const times = count === 1 ? 'one iteration' : `${count} iterations`
  return new BatonError('UNTIL_NOT_MET', `the command of "until" has not exited with 0 after ${times}`, {
    hint: `See its output with baton runs show last --place iteration/${count - 1}/until; allow more with --iter.`,
  })
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
  const { outcomes: tasks, iterated } = outcome
  if (iterated?.stop_reason === 'failing') {
    return { stopReason: 'error', tasks, outputs: [], error: keptFailing(iterated), isFinal: true }
  }
  if (iterated?.until_met === false) {
    return { stopReason: 'until_not_met', tasks, outputs: [], error: neverMet(iterated), isFinal: true }
  }
  const isFailed = tasks.some(({ status }) => status === 'failed')
  // a finished iteration is not repeated, even if it failed
  const isFinal = isFailed && iterated !== undefined
  return { stopReason: isFailed ? 'error' : 'done', tasks, outputs: [], ...(isFinal ? { isFinal } : {}) }
}
