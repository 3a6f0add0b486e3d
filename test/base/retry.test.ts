import { describe, expect, it } from 'vitest'
import {
  backoffDelay,
  defaultRetryPolicy,
  retry,
  type RetryNotice,
  type RetryPolicy,
  type RetryVerdict,
  withTimeout,
} from '../../src/base/retry.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type FakeClock, fakeClock } from '../helpers/fake-clock.ts'

const signal = new AbortController().signal

class Failure extends Error {
  readonly verdict: RetryVerdict

  constructor(message: string, verdict: RetryVerdict = { kind: 'retry' }) {
    super(message)
    this.verdict = verdict
  }
}

function classify(error: unknown): RetryVerdict {
  return error instanceof Failure ? error.verdict : { kind: 'permanent' }
}

interface Scripted {
  readonly calls: readonly number[]
  readonly operation: (attempt: number) => Promise<string>
}

/** An operation that fails with these errors, one per call, and then returns `done`. */
function failing(...errors: readonly Error[]): Scripted {
  const calls: number[] = []
  return {
    calls,
    operation: async (attempt) => {
      calls.push(attempt)
      const error = errors[calls.length - 1]
      if (error !== undefined) throw error
      return 'done'
    },
  }
}

function endlessly(error: Error): Error[] {
  return Array.from({ length: 100 }, () => error)
}

async function sleepsOf(policy: RetryPolicy, draw: number): Promise<readonly number[]> {
  const clock = fakeClock({ draw })
  await retry(failing(...endlessly(new Failure('busy'))).operation, { policy, classify, clock, signal })
  return clock.sleeps
}

describe('the waits between attempts', () => {
  it('follow a policy of three attempts, 100 ms, 10 s, a factor of two and half as much jitter by default', () => {
    expect(defaultRetryPolicy).toEqual({
      maxAttempts: 3,
      initialBackoffMs: 100,
      maxBackoffMs: 10_000,
      backoffMultiplier: 2,
      jitterFactor: 0.5,
    })
  })

  it.each([
    { draw: 0.5, sleeps: [100, 200] },
    { draw: 0, sleeps: [50, 100] },
    { draw: 0.75, sleeps: [125, 250] },
    { draw: 1, sleeps: [150, 300] },
  ])('are $sleeps by default when the random number is $draw', async ({ draw, sleeps }) => {
    expect(await sleepsOf(defaultRetryPolicy, draw)).toEqual(sleeps)
  })

  it('double up to the longest wait', async () => {
    const sleeps = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
    expect(await sleepsOf({ ...defaultRetryPolicy, maxAttempts: 10 }, 0.5)).toEqual(sleeps)
  })

  it('are rounded down at each step when the factor is not a whole number', async () => {
    const policy = { ...defaultRetryPolicy, maxAttempts: 7, backoffMultiplier: 1.5 }
    expect(await sleepsOf(policy, 0.5)).toEqual([100, 150, 225, 337, 505, 757])
  })

  it('stay below the longest wait with jitter too, including the first one', () => {
    expect(backoffDelay(defaultRetryPolicy, 9, 1)).toBe(10_000)
    expect(backoffDelay({ ...defaultRetryPolicy, initialBackoffMs: 20_000 }, 1, 0.5)).toBe(10_000)
  })

  it('take their jitter from the clock, half to one and a half times each', async () => {
    const clock = { ...fakeClock(), random: () => systemClock.random() }
    const policy = { ...defaultRetryPolicy, maxAttempts: 50, backoffMultiplier: 1 }
    const sleeps: number[] = []
    await retry(failing(...endlessly(new Failure('busy'))).operation, {
      policy,
      classify,
      clock,
      signal,
      onRetry: ({ delayMs }) => sleeps.push(delayMs),
    })
    expect(sleeps).toHaveLength(49)
    expect(sleeps.filter((ms) => ms < 50 || ms > 150)).toEqual([])
    expect(new Set(sleeps).size).toBeGreaterThan(5)
  })
})

describe('retry', () => {
  const policy = defaultRetryPolicy

  it('returns the value of a first success after one call and no wait', async () => {
    const clock = fakeClock()
    const { calls, operation } = failing()
    expect(await retry(operation, { policy, classify, clock, signal })).toEqual({
      kind: 'ok',
      value: 'done',
      attempts: 1,
    })
    expect({ calls, sleeps: clock.sleeps }).toEqual({ calls: [1], sleeps: [] })
  })

  it('calls three times when the first two fail temporarily, and reports each wait before it begins', async () => {
    const log: (RetryNotice | number)[] = []
    const clock = fakeClock({ onSleep: (ms) => log.push(ms) })
    const [first, second] = [new Failure('first'), new Failure('second')]
    const { operation } = failing(first, second)
    const outcome = await retry(operation, { policy, classify, clock, signal, onRetry: (notice) => log.push(notice) })
    expect(outcome).toEqual({ kind: 'ok', value: 'done', attempts: 3 })
    expect(log).toEqual([
      { attempt: 1, delayMs: 100, error: first },
      100,
      { attempt: 2, delayMs: 200, error: second },
      200,
    ])
  })

  it('is exhausted with the last error when the third call fails too', async () => {
    const last = new Failure('third')
    const { calls, operation } = failing(new Failure('first'), new Failure('second'), last)
    const outcome = await retry(operation, { policy, classify, clock: fakeClock(), signal })
    expect(outcome).toEqual({ kind: 'exhausted', error: last, attempts: 3 })
    expect(calls).toEqual([1, 2, 3])
  })

  it.each([
    { name: 'an error that is permanent', error: new Failure('no such key', { kind: 'permanent' }) },
    { name: 'an error of unknown kind', error: new Error('who knows') },
  ])('ends with $name after one call', async ({ error }) => {
    const clock = fakeClock()
    const { calls, operation } = failing(error)
    expect(await retry(operation, { policy, classify, clock, signal })).toEqual({ kind: 'permanent', error })
    expect({ calls, sleeps: clock.sleeps }).toEqual({ calls: [1], sleeps: [] })
  })

  it('waits as long as the error suggests, without jitter, up to two minutes', async () => {
    const clock = fakeClock({ draw: 0 })
    const asked = (delayMs: number): Failure => new Failure('busy', { kind: 'retry', delayMs })
    const { operation } = failing(asked(2_000), new Failure('busy'), asked(3_600_000), asked(0))
    await retry(operation, { policy: { ...policy, maxAttempts: 9 }, classify, clock, signal })
    expect(clock.sleeps).toEqual([2_000, 100, 120_000, 0])
  })

  it('ends with the reason of the signal when it is aborted during the first wait, after one call', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const { calls, operation } = failing(...endlessly(new Failure('busy')))
    const clock = fakeClock({ onSleep: () => stop.abort(reason) })
    await expect(retry(operation, { policy, classify, clock, signal: stop.signal })).rejects.toBe(reason)
    expect(calls).toEqual([1])
  })

  it('ends at once during a real wait', async () => {
    const stop = new AbortController()
    const waiting = retry(failing(new Failure('busy', { kind: 'retry', delayMs: 100_000 })).operation, {
      policy,
      classify,
      clock: systemClock,
      signal: stop.signal,
      onRetry: () => setImmediate(() => stop.abort(new Error('stop'))),
    })
    await expect(waiting).rejects.toThrow('stop')
  })

  it.each([
    { name: 'for good', error: new Error('cut') },
    { name: 'in passing', error: new Failure('cut') },
  ])('does not mistake a stopped operation for one that failed $name', async ({ error }) => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const operation = async (): Promise<never> => {
      stop.abort(reason)
      throw error
    }
    const notices: RetryNotice[] = []
    const onRetry = (notice: RetryNotice): void => void notices.push(notice)
    const options = { policy, classify, clock: fakeClock(), signal: stop.signal, onRetry }
    await expect(retry(operation, options)).rejects.toBe(reason)
    expect(notices).toEqual([])
  })

  it('calls nothing when the signal is already aborted', async () => {
    const { calls, operation } = failing()
    const aborted = AbortSignal.abort(new Error('stop'))
    await expect(retry(operation, { policy, classify, clock: fakeClock(), signal: aborted })).rejects.toThrow('stop')
    expect(calls).toEqual([])
  })
})

describe('withTimeout', () => {
  function lasting(clock: FakeClock, ms: number): (signal: AbortSignal) => Promise<string> {
    return async (inner) => {
      await clock.sleep(ms, inner)
      return 'done'
    }
  }

  it('returns the value of an operation that is fast enough, whose signal is not aborted', async () => {
    const clock = fakeClock()
    let given: AbortSignal | undefined
    const operation = (inner: AbortSignal): Promise<string> => lasting(clock, 5)((given = inner))
    expect(await withTimeout(operation, { ms: 10, clock, signal })).toEqual({ kind: 'ok', value: 'done' })
    expect(given?.aborted).toBe(false)
  })

  it('throws the error of an operation that fails within the limit', async () => {
    const error = new Error('broken')
    const outcome = await withTimeout(() => Promise.reject(error), { ms: 10, clock: fakeClock(), signal })
    expect(outcome).toEqual({ kind: 'failed', error })
  })

  it('throws the error of an operation that throws before it begins to wait', async () => {
    const error = new Error('broken')
    const operation = (): never => {
      throw error
    }
    expect(await withTimeout(operation, { ms: 10, clock: fakeClock(), signal })).toEqual({ kind: 'failed', error })
  })

  it('reports a timeout when the operation takes longer, and stops it', async () => {
    const clock = fakeClock()
    let given: AbortSignal | undefined
    const operation = (inner: AbortSignal): Promise<string> => lasting(clock, 50)((given = inner))
    expect(await withTimeout(operation, { ms: 10, clock, signal })).toEqual({ kind: 'timed_out' })
    expect(clock.now()).toBe(10)
    expect(given?.reason).toMatchObject({ name: 'TimeoutError' })
  })

  it('does not wait for an operation that never ends and ignores its signal', async () => {
    const never = (): Promise<never> => new Promise(() => undefined)
    expect(await withTimeout(never, { ms: 1, clock: systemClock, signal })).toEqual({ kind: 'timed_out' })
  })

  it('rejects with the reason of the signal, and passes it on', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    let given: AbortSignal | undefined
    const operation = (inner: AbortSignal): Promise<never> => {
      given = inner
      stop.abort(reason)
      return new Promise(() => undefined)
    }
    const waiting = withTimeout(operation, { ms: 1_000_000, clock: systemClock, signal: stop.signal })
    await expect(waiting).rejects.toBe(reason)
    expect(given?.reason).toBe(reason)
  })

  it('does not mistake a stopped operation for one that failed', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const operation = async (): Promise<never> => {
      stop.abort(reason)
      throw new Error('cut')
    }
    const waiting = withTimeout(operation, { ms: 1_000, clock: systemClock, signal: stop.signal })
    await expect(waiting).rejects.toBe(reason)
  })

  it('starts nothing if the signal is already aborted', async () => {
    const { calls, operation } = failing()
    const aborted = AbortSignal.abort(new Error('stop'))
    const waiting = withTimeout(() => operation(1), { ms: 10, clock: fakeClock(), signal: aborted })
    await expect(waiting).rejects.toThrow('stop')
    expect(calls).toEqual([])
  })
})
