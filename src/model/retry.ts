import { type Clock, durationText, localTimeText } from '../base/clock.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import {
  backoffDelay,
  defaultRetryPolicy,
  retry,
  type RetryNotice,
  type RetryPolicy,
  type RetryVerdict,
} from '../base/retry.ts'
import type { Stopwatch } from '../base/work-time.ts'
import { modelFailureOf } from './errors.ts'

interface CallRetryOptions {
  /** For network errors, timeouts and failing servers. */
  readonly policy: RetryPolicy
  /** Total time one call may wait for a host that is overloaded or limits requests. 0: `policy` applies. */
  readonly patienceMs: number
  /** How long one call goes on trying after its first failure, once `policy` is exhausted. 0: not at all. */
  readonly outageMs: number
  /** There is another model to try: neither overloads nor outages are waited for. */
  readonly leavesOverloads?: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called before each wait. `attempt` counts all calls. */
  readonly onRetry: (notice: CallRetryNotice) => void
}

/** A failed call that will be repeated; `leftMs`: how much longer, if it keeps failing in this way. */
interface CallRetryNotice extends RetryNotice {
  readonly leftMs?: number
}

/**
 * Makes a model call, and retries it if that can help. `call` gets its number, from 1. Errors
 * that `modelFailureOf` does not know are permanent. Acquire a slot of a pool inside `call`, so that it is free during
 * waits.
 * @throws the unchanged error of a permanent failure; the last error with the number of attempts; BatonError LIMIT if
 *   the host asks for more patience than configured; the signal's reason
 */
export async function callWithRetries<T>(call: (attempt: number) => Promise<T>, options: CallRetryOptions): Promise<T> {
  const { onRetry, clock, signal, leavesOverloads } = options
  const waits = options.patienceMs > 0 && leavesOverloads !== true
  const outage = createOutage(leavesOverloads === true ? { ...options, outageMs: 0 } : options)
  let calls = 0
  const callOnce = (): Promise<T> => outage.during(() => call((calls += 1)))
  const notify = ({ delayMs, error }: Wait): void =>
    onRetry({ attempt: calls, delayMs, error, ...defined({ leftMs: outage.leftMs(error) }) })
  try {
    for (let { policy } = options; ; policy = { ...policy, maxAttempts: 1 }) {
      const outcome = await retry(waits ? patiently(callOnce, options, notify) : callOnce, {
        ...options,
        policy,
        classify: (error) => classify(error, options),
        onRetry: notify,
      })
      if (outcome.kind === 'ok') return outcome.value
      const { error } = outcome
      if (outcome.kind === 'permanent') throw tooLong(error, options) ?? error
      const delayMs = outage.nextDelay(error)
      if (delayMs === undefined) throw exhausted(error, outage)
      notify({ delayMs, error })
      await clock.sleep(delayMs, signal)
    }
  } finally {
    outage.end()
  }
}

/** The waits for a host that cannot be reached or fails, after those of `[retry]`. */
const outagePolicy: RetryPolicy = { ...defaultRetryPolicy, initialBackoffMs: 500, maxBackoffMs: 30_000 }

/** Answers of one call that may break off before it fails, however much patience is left: each may be paid for. */
const mostBroken = 10

/** The failures of one call, other than overloads, and how long they may go on. */
interface Outage {
  /** Makes the call, and counts it if it fails. */
  readonly during: <T>(call: () => Promise<T>) => Promise<T>
  /** How long the call goes on after this error; undefined: it is not one that is waited for. */
  readonly leftMs: (error: unknown) => number | undefined
  /** The wait before the next call; undefined: there is none. */
  readonly nextDelay: (error: unknown) => number | undefined
  readonly failures: () => number
  readonly outageMs: number
  /** Since the first failure. */
  readonly lastedMs: () => number
  readonly end: () => void
}

function createOutage({ outageMs, patienceMs, clock }: CallRetryOptions): Outage {
  let time: Stopwatch | undefined
  let failures = 0
  let waits = 0
  let broken = 0
  const lastedMs = (): number => time?.elapsedMs() ?? 0
  const leftMs = (error: unknown): number | undefined =>
    outageMs > 0 && isOutage(error) && broken < mostBroken ? Math.max(0, outageMs - lastedMs()) : undefined
  const end = (): void => {
    time?.end()
    time = undefined
  }
  return {
    outageMs,
    lastedMs,
    leftMs,
    end,
    failures: () => failures,
    async during(call) {
      try {
        return await call()
      } catch (error) {
        // it has its own patience, and the host is reached again
        if (patienceMs > 0 && modelFailureOf(error)?.isOverload === true) end()
        else {
          failures += 1
          if (modelFailureOf(error)?.isBroken === true) broken += 1
          time ??= clock.startStopwatch()
        }
        throw error
      }
    },
    nextDelay(error) {
      const left = leftMs(error) ?? 0
      const askedMs = modelFailureOf(error)?.retryAfterMs ?? 0
      if (left <= 0 || askedMs > left) return undefined
      waits += 1
      return Math.min(left, Math.max(askedMs, backoffDelay(outagePolicy, waits, clock.random())))
    },
  }
}

/** Whether the network or the server fails, which may pass; not if the server is slow, or only reports an error. */
function isOutage(error: unknown): boolean {
  const failure = modelFailureOf(error)
  if (failure === undefined || !failure.retryable || failure.isOverload) return false
  const { status = 0, isUnreached, isEnded } = failure
  if (isEnded === true) return false
  return failure.class === 'network' || isUnreached === true || status === 408 || status >= 500
}

type Wait = Pick<RetryNotice, 'delayMs' | 'error'>

/** Without patience, a call fails if the host asks for a longer wait, because a shorter one would be useless. */
const longestWithoutPatienceMs = 120_000

function classify(error: unknown, { patienceMs, leavesOverloads }: CallRetryOptions): RetryVerdict {
  const failure = modelFailureOf(error)
  if (failure === undefined || !failure.retryable) return { kind: 'permanent' }
  const { isOverload, retryAfterMs = 0 } = failure
  // with patience, an overload that gets here has used it up
  const isOver = patienceMs > 0 || leavesOverloads === true || retryAfterMs > longestWithoutPatienceMs
  if (isOverload && isOver) return { kind: 'permanent' }
  return { kind: 'retry', ...defined({ delayMs: failure.retryAfterMs }) }
}

/** The error of an overload that is not waited for: there is no patience, and the host asks for a long wait. */
function tooLong(error: unknown, { patienceMs, leavesOverloads, clock }: CallRetryOptions): BatonError | undefined {
  const failure = modelFailureOf(error)
  if (!isBatonError(error) || error.code === 'LIMIT' || failure?.isOverload !== true) return undefined
  const { retryable, retryAfterMs: askedMs = 0 } = failure
  if (!retryable || patienceMs > 0 || leavesOverloads === true || askedMs <= longestWithoutPatienceMs) return undefined
  return outOfPatience(error, { patienceMs, waits: 0, waitedMs: 0, askedMs, now: clock.now() })
}

function exhausted(error: unknown, { failures, outageMs, lastedMs, leftMs }: Outage): unknown {
  if (!isBatonError(error)) return error
  const { code, hint, place, cause } = error
  const count = failures()
  const calls = `${count} ${count === 1 ? 'attempt' : 'attempts'}`
  if (leftMs(error) === undefined) {
    return new BatonError(code, `${error.message} (after ${calls})`, { ...defined({ hint, place }), cause })
  }
  const longer = `To have it tried for longer, raise retry.patience, for example with -c retry.patience=1h; it is ${durationText(outageMs)}.`
  return new BatonError(code, `${error.message} (after ${calls} in ${durationText(lastedMs())})`, {
    hint: hint === undefined ? longer : `${hint} ${longer}`,
    ...defined({ place }),
    cause,
  })
}

/** Wraps `call` so that it waits out overloads until the patience is used up; waiting time adds up across calls. */
function patiently<T>(
  call: () => Promise<T>,
  { patienceMs, clock, signal }: CallRetryOptions,
  onWait: (wait: Wait) => void,
): () => Promise<T> {
  let patience: Patience = { patienceMs, waits: 0, waitedMs: 0 }

  async function sitOut(error: unknown): Promise<void> {
    const failure = modelFailureOf(error)
    if (failure === undefined || !failure.retryable || !failure.isOverload || !isBatonError(error)) throw error
    const askedMs = failure.retryAfterMs
    const delayMs = overloadDelay(patience, askedMs)
    if (delayMs === undefined) throw outOfPatience(error, { ...patience, askedMs, now: clock.now() })
    patience = { patienceMs, waits: patience.waits + 1, waitedMs: patience.waitedMs + delayMs }
    onWait({ delayMs, error })
    await clock.sleep(delayMs, signal)
  }

  return async () => {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        signal.throwIfAborted()
        await sitOut(error)
      }
    }
  }
}

interface Patience {
  readonly patienceMs: number
  /** The number of waits so far, and their total length. */
  readonly waits: number
  readonly waitedMs: number
}

const firstWaitMs = 5_000
const longestWaitMs = 60_000

/**
 * The next wait in milliseconds for an overloaded host, without jitter: what it asks for, otherwise 5 s doubling up to
 * 60 s, capped by the remaining patience. Undefined if no or not enough patience is left.
 */
function overloadDelay({ patienceMs, waits, waitedMs }: Patience, askedMs: number | undefined): number | undefined {
  const leftMs = patienceMs - waitedMs
  if (leftMs <= 0 || (askedMs !== undefined && askedMs > leftMs)) return undefined
  if (askedMs === undefined) return Math.min(firstWaitMs * 2 ** waits, longestWaitMs, leftMs)
  // a host that keeps asking for a wait of zero must not be called without a pause
  const leastMs = backoffDelay(defaultRetryPolicy, waits + 1, 0.5)
  return Math.min(Math.max(askedMs, leastMs), leftMs)
}

/** Why waiting ends: `askedMs` is the wait the host asks for, `now` the current time. */
interface Impatience extends Patience {
  readonly askedMs: number | undefined
  readonly now: number
}

/** The error of a run that can continue later: how long it waited, and when the host accepts requests again. */
function outOfPatience(error: BatonError, { patienceMs, waitedMs, askedMs = 0, now }: Impatience): BatonError {
  const waited = waitedMs > 0 ? [`waited ${durationText(waitedMs)}`] : []
  const asked = askedMs > 0 ? [`the host asks to wait ${durationText(askedMs)}`] : []
  const when = askedMs > 0 ? `at ${localTimeText(now + askedMs, now)} or later` : 'later'
  return new BatonError('LIMIT', `${error.message} (${[...waited, ...asked].join(', and ')})`, {
    hint: `Run it again ${when}, or raise [retry] patience, which is ${durationText(patienceMs)}.`,
    limit: 'retry.patience',
    cause: error.cause,
  })
}
