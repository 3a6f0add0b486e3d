import type { Clock } from './clock.ts'
import { manyListeners } from './concurrency.ts'

/** How often an operation is retried, and how long it waits in between. */
export interface RetryPolicy {
  /** Including the first call. */
  readonly maxAttempts: number
  readonly initialBackoffMs: number
  /** Upper limit of a wait, jitter included. */
  readonly maxBackoffMs: number
  readonly backoffMultiplier: number
  /** 0.5 means 50 % less to 50 % more. */
  readonly jitterFactor: number
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 3,
  initialBackoffMs: 100,
  maxBackoffMs: 10_000,
  backoffMultiplier: 2,
  jitterFactor: 0.5,
}

/** Upper limit of a wait that a server requests. */
const longestSuggestionMs = 120_000

/**
 * The wait in milliseconds after failed attempt number `attempt`, from 1.
 * `draw` is in [0, 1); 0.5 gives the wait without jitter.
 */
export function backoffDelay(policy: RetryPolicy, attempt: number, draw: number): number {
  const { initialBackoffMs, maxBackoffMs, backoffMultiplier, jitterFactor } = policy
  let backoff = initialBackoffMs
  for (let step = 1; step < attempt; step += 1) {
    const next = Math.min(Math.floor(backoff * backoffMultiplier), maxBackoffMs)
    if (next === backoff) break
    backoff = next
  }
  const jitter = (2 * draw - 1) * jitterFactor
  return Math.min(Math.floor(backoff * (1 + jitter)), maxBackoffMs)
}

/** Whether to retry after an error; `delayMs` replaces the backoff. */
export type RetryVerdict = { readonly kind: 'retry'; readonly delayMs?: number } | { readonly kind: 'permanent' }

/** A failed attempt that will be retried. */
export interface RetryNotice {
  /** The call that failed, from 1. */
  readonly attempt: number
  /** The wait before the next attempt. */
  readonly delayMs: number
  readonly error: unknown
}

export interface RetryOptions {
  readonly policy: RetryPolicy
  readonly classify: (error: unknown) => RetryVerdict
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called before each wait. */
  readonly onRetry?: (notice: RetryNotice) => void
}

/** The result of all attempts. */
export type RetryOutcome<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number }
  | { readonly kind: 'permanent'; readonly error: unknown }
  | { readonly kind: 'exhausted'; readonly error: unknown; readonly attempts: number }

/**
 * Calls `operation` until it succeeds, fails permanently, or has been called `maxAttempts` times. Rejects
 * only with the signal's reason, immediately even during a wait.
 */
export async function retry<T>(
  operation: (attempt: number) => Promise<T>,
  { policy, classify, clock, signal, onRetry }: RetryOptions,
): Promise<RetryOutcome<T>> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    const outcome = await settle(() => operation(attempt))
    if (outcome.kind === 'ok') return { ...outcome, attempts: attempt }
    signal.throwIfAborted()
    const { error } = outcome
    const verdict = classify(error)
    if (verdict.kind === 'permanent') return { kind: 'permanent', error }
    if (attempt >= policy.maxAttempts) return { kind: 'exhausted', error, attempts: attempt }
    const delayMs =
      verdict.delayMs === undefined
        ? backoffDelay(policy, attempt, clock.random())
        : Math.min(verdict.delayMs, longestSuggestionMs)
    onRetry?.({ attempt, delayMs, error })
    await clock.sleep(delayMs, signal)
  }
}

export interface TimeoutOptions {
  readonly ms: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

export type TimeoutOutcome<T> = Settled<T> | { readonly kind: 'timed_out' }

type Settled<T> = { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'failed'; readonly error: unknown }

/**
 * Runs one operation with a timeout: its value, its error, or `timed_out`. The signal it receives is aborted at
 * the timeout and with `signal`; an operation that ignores it is not waited for. Rejects only with the reason of
 * `signal`.
 */
export async function withTimeout<T>(
  operation: (signal: AbortSignal) => Promise<T>,
  { ms, clock, signal }: TimeoutOptions,
): Promise<TimeoutOutcome<T>> {
  signal.throwIfAborted()
  const limit = new AbortController()
  const settled = new AbortController()
  const operationSignal = manyListeners(AbortSignal.any([signal, limit.signal]))
  const timer = clock.sleep(ms, AbortSignal.any([signal, settled.signal]))
  try {
    const timeUp = timer.then(() => ({ kind: 'timed_out' }) as const)
    const outcome = await Promise.race([settle(() => operation(operationSignal)), timeUp])
    if (outcome.kind === 'timed_out') limit.abort(new DOMException(`stopped after ${ms} ms`, 'TimeoutError'))
    if (outcome.kind === 'failed') signal.throwIfAborted()
    return outcome
  } finally {
    settled.abort()
  }
}

async function settle<T>(operation: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { kind: 'ok', value: await operation() }
  } catch (error) {
    return { kind: 'failed', error }
  }
}
