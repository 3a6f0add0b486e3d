import type { Json } from '../base/json.ts'
import type { PromptOutcome } from './prompt-run.ts'
import type { TaskOutcome } from './task.ts'

/** What one run of a prompt file is to its caller; plain JSON, because it is recorded. */
export type ChildAnswer =
  /** `value` where the file has `[output]`; of several tasks the list of their values. */
  | { readonly kind: 'answer'; readonly text: string; readonly value?: Json }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** `message` is that of the first task that failed. */
  | { readonly kind: 'failed'; readonly message: string }

/**
 * The final answers of a run joined by a blank line. Tasks that failed where the file allows it are left out; when
 * nothing is left, the run failed.
 */
export function childAnswer(outcome: PromptOutcome): ChildAnswer {
  if (outcome.status === 'skipped') return { kind: 'skipped', reason: outcome.reason }
  const done = outcome.outcomes.filter((task) => task.status === 'done')
  if (done.length === 0) return nothingDone(outcome.outcomes)
  const values = done.flatMap(({ value }) => (value === undefined ? [] : [value]))
  const value = done.length === 1 ? values[0] : values
  return {
    kind: 'answer',
    text: done.map(({ content }) => content).join('\n\n'),
    ...(values.length === 0 || value === undefined ? {} : { value }),
  }
}

function nothingDone(outcomes: readonly TaskOutcome[]): ChildAnswer {
  const failed = outcomes.find((task) => task.status === 'failed')
  if (failed !== undefined) return { kind: 'failed', message: failed.error.message }
  const skipped = outcomes.find((task) => task.status === 'skipped')
  return { kind: 'skipped', reason: skipped?.reason ?? 'it had nothing to do' }
}
