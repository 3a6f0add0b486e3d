import { BatonError } from '../base/error.ts'
import { backoffDelay, defaultRetryPolicy } from '../base/retry.ts'
import { durationText, localTimeText } from '../base/time-text.ts'

/** How long one call may wait for a host that is overloaded, and what it has waited so far. */
export interface Patience {
  readonly patienceMs: number
  /** How often, and how long in all, was waited. */
  readonly waits: number
  readonly waitedMs: number
}

const firstWaitMs = 5_000
const longestWaitMs = 60_000

/**
 * The next wait in milliseconds for an overloaded host, without jitter: what it asks for, else 5 s doubling to 60 s, the
 * last one as long as the patience lasts. Undefined when there is no patience left, or not enough (DESIGN 8).
 */
export function overloadDelay(
  { patienceMs, waits, waitedMs }: Patience,
  askedMs: number | undefined,
): number | undefined {
  const leftMs = patienceMs - waitedMs
  if (leftMs <= 0 || (askedMs !== undefined && askedMs > leftMs)) return undefined
  if (askedMs === undefined) return Math.min(firstWaitMs * 2 ** waits, longestWaitMs, leftMs)
  // a host that keeps asking for no wait at all must not be called without a pause
  const leastMs = backoffDelay(defaultRetryPolicy, waits + 1, 0.5)
  return Math.min(Math.max(askedMs, leastMs), leftMs)
}

/** Why waiting ends: `error` is what the host said last, `askedMs` the wait it asks for, `now` the time of the clock. */
interface Impatience extends Patience {
  readonly askedMs: number | undefined
  readonly now: number
}

/** The error of a run that can go on later: how long was waited, and when the host wants to be asked again (DESIGN 8). */
export function outOfPatience(error: BatonError, { patienceMs, waitedMs, askedMs = 0, now }: Impatience): BatonError {
  const waited = waitedMs > 0 ? [`waited ${durationText(waitedMs)}`] : []
  const asked = askedMs > 0 ? [`the host asks to wait ${durationText(askedMs)}`] : []
  const when = askedMs > 0 ? `at ${localTimeText(now + askedMs, now)} or later` : 'later'
  return new BatonError('LIMIT', `${error.message} (${[...waited, ...asked].join(', and ')})`, {
    hint: `Run it again ${when}, or raise [retry] patience, which is ${durationText(patienceMs)}.`,
    cause: error.cause,
  })
}
