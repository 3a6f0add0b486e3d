import type { DataPath } from '../base/data-text.ts'
import { type Finding, wrongKey } from './issue.ts'
import type { KeyRows } from './setting.ts'

/** Why work is tried again: its answer is empty, or does not have the form it needs, or anything else failed. */
export type RetryReason = 'empty' | 'invalid' | 'error'

/** The keys of everything that may be tried again. */
export const retryRows = {
  retries: { schema: ({ integer }) => integer(0, 10), text: 'How often it is tried again after it has failed.' },
  retry_on: {
    schema: ({ listOf, oneOf }) =>
      listOf(oneOf('empty', 'invalid', 'error'), 'a list of "empty", "invalid", "error"').min(
        1,
        'a list of "empty", "invalid", "error"',
      ),
    text: 'After which failures: an empty answer, one that does not fit, any other error. Default: all of them.',
  },
} as const satisfies KeyRows

/** As written: how often something is tried again, default not at all, and after which failures, default all. */
export interface Retries {
  readonly retries?: number | undefined
  readonly retry_on?: readonly RetryReason[] | undefined
}

/** Whether to try again after this failure and so many retries. */
export function mayRetry({ retries = 0, retry_on: reasons }: Retries, reason: RetryReason, done: number): boolean {
  return done < retries && (reasons === undefined || reasons.includes(reason))
}

/** `retry_on` without a number of retries. */
export function checkRetries(
  { retries = 0, retry_on: reasons }: Retries,
  at: DataPath,
  who: string,
): readonly Finding[] {
  if (reasons === undefined || retries > 0) return []
  const message = `${who} has retry_on without retries`
  return [wrongKey([...at, 'retry_on'], { message, hint: 'Add retries = 2, or remove retry_on.' })]
}
