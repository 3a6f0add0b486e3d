import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { defaultRetryPolicy, type RetryNotice } from '../../src/base/retry.ts'
import { localTimeText } from '../../src/base/clock.ts'
import { exitCodeOf } from '../../src/event/exit-code.ts'
import { type ModelFailure, modelFailureOf } from '../../src/model/errors.ts'
import { callWithRetries } from '../../src/model/retry.ts'
import { type FakeClock, fakeClock } from '../helpers/fake-clock.ts'

const minutes = 60_000
const noon = new Date(2026, 5, 10, 12, 0).getTime()

function failure(of: Partial<ModelFailure>): BatonError {
  const cause: ModelFailure = { kind: 'model-failure', class: 'unavailable', retryable: true, isOverload: false, ...of }
  return new BatonError('MODEL_FAILED', 'm: host failed', { hint: 'Look there.', cause })
}

const down = failure({ class: 'network' })
const limited = failure({ class: 'rate_limit', isOverload: true, status: 429 })

function asking(retryAfterMs: number): BatonError {
  return failure({ class: 'rate_limit', isOverload: true, status: 429, retryAfterMs })
}

interface Given {
  readonly patienceMs?: number
  readonly outageMs?: number
  readonly clock?: FakeClock
  readonly signal?: AbortSignal
  readonly leavesOverloads?: boolean
}

interface Ending {
  readonly sleeps: readonly number[]
  readonly calls: readonly number[]
  readonly notices: readonly RetryNotice[]
  readonly value?: string
  readonly error?: unknown
}

/** Makes a call that fails with these errors in turn and then succeeds. */
async function run(errors: readonly unknown[], given: Given = {}): Promise<Ending> {
  const {
    patienceMs = 10 * minutes,
    outageMs = 0,
    clock = fakeClock({ now: noon }),
    signal = new AbortController().signal,
    ...more
  } = given
  const calls: number[] = []
  const notices: RetryNotice[] = []
  const call = async (attempt: number): Promise<string> => {
    calls.push(attempt)
    if (calls.length <= errors.length) throw errors[calls.length - 1]
    return 'answer'
  }
  const onRetry = (notice: RetryNotice): void => void notices.push(notice)
  try {
    const options = { policy: defaultRetryPolicy, patienceMs, outageMs, clock, signal, onRetry, ...more }
    const value = await callWithRetries(call, options)
    return { value, calls, notices, sleeps: clock.sleeps }
  } catch (error) {
    return { error, calls, notices, sleeps: clock.sleeps }
  }
}

function endlessly(error: unknown): unknown[] {
  return Array.from({ length: 2_000 }, () => error)
}

describe.each([{ patienceMs: 0 }, { patienceMs: 10 * minutes }])(
  'with a patience of $patienceMs ms',
  ({ patienceMs }) => {
    it('returns a first answer after one call', async () => {
      expect(await run([], { patienceMs })).toEqual({ value: 'answer', calls: [1], notices: [], sleeps: [] })
    })

    it.each([
      { name: 'the network', error: down },
      { name: 'a time limit', error: failure({ class: 'timeout' }) },
      { name: 'a server', error: failure({ status: 500 }) },
    ])('calls three times when $name fails, and then says how often', async ({ error }) => {
      const ending = await run(endlessly(error), { patienceMs })
      expect(ending).toMatchObject({ calls: [1, 2, 3], sleeps: [100, 200] })
      expect(ending.error).toMatchObject({
        code: 'MODEL_FAILED',
        message: 'm: host failed (after 3 attempts)',
        hint: 'Look there.',
        cause: error.cause,
      })
    })

    it('reports each failed call and the wait after it', async () => {
      const { value, notices } = await run([down, down], { patienceMs })
      expect(value).toBe('answer')
      expect(notices).toEqual([
        { attempt: 1, delayMs: 100, error: down },
        { attempt: 2, delayMs: 200, error: down },
      ])
    })

    it.each(['auth', 'invalid_request', 'quota', 'not_found', 'garbled', 'network'] as const)(
      'ends at once, with its own error, when the failure is permanent: %s',
      async (kind) => {
        const error = failure({ class: kind, retryable: false })
        expect(await run([error], { patienceMs })).toEqual({ error, calls: [1], notices: [], sleeps: [] })
      },
    )

    it('ends at once when the quota is used up, also when the host reports it as an overload', async () => {
      const error = failure({ class: 'quota', retryable: false, isOverload: true, status: 429 })
      expect(await run([error], { patienceMs })).toMatchObject({ error, calls: [1] })
    })

    it.each([
      { name: 'a missing key', error: new BatonError('KEY_MISSING', 'no key') },
      { name: 'a mistake in the program', error: new TypeError('x is undefined') },
    ])('ends at once for an error of anything but a model call: $name', async ({ error }) => {
      expect(await run([error], { patienceMs })).toMatchObject({ error, calls: [1], sleeps: [] })
    })

    it.each([
      { name: 'failure', error: down },
      { name: 'overload', error: limited },
    ])('ends with the reason of the signal when it is aborted in the wait after a $name', async ({ error }) => {
      const stop = new AbortController()
      const reason = new Error('stop')
      const clock = fakeClock({ onSleep: () => stop.abort(reason) })
      expect(await run([error], { patienceMs, clock, signal: stop.signal })).toMatchObject({
        error: reason,
        calls: [1],
      })
    })

    it.each([
      { name: 'failure', error: down },
      { name: 'overload', error: limited },
    ])('reports nothing for a stopped call, although it looks like a $name', async ({ error }) => {
      const stop = new AbortController()
      const reason = new Error('stop')
      const notices: RetryNotice[] = []
      const call = (): Promise<never> => {
        stop.abort(reason)
        return Promise.reject(error)
      }
      const onRetry = (notice: RetryNotice): void => void notices.push(notice)
      const policy = defaultRetryPolicy
      const options = { policy, patienceMs, outageMs: 0, clock: fakeClock(), signal: stop.signal, onRetry }
      await expect(callWithRetries(call, options)).rejects.toBe(reason)
      expect(notices).toEqual([])
    })

    it('waits as long as a failing server asks', async () => {
      expect((await run([failure({ status: 500, retryAfterMs: 2_000 })], { patienceMs })).sleeps).toEqual([2_000])
    })
  },
)

describe('without patience', () => {
  it('calls an overloaded host three times, like one that fails', async () => {
    const ending = await run(endlessly(limited), { patienceMs: 0 })
    expect(ending).toMatchObject({ calls: [1, 2, 3], sleeps: [100, 200] })
    expect(ending.error).toMatchObject({ code: 'MODEL_FAILED', message: 'm: host failed (after 3 attempts)' })
  })

  it('waits up to two minutes when the host asks for it', async () => {
    const { value, sleeps } = await run([asking(2_000), asking(2 * minutes)], { patienceMs: 0 })
    expect({ value, sleeps }).toEqual({ value: 'answer', sleeps: [2_000, 2 * minutes] })
  })

  it('ends at once as a limit when the host asks for more than that', async () => {
    const { error, calls, sleeps } = await run([asking(60 * minutes)], { patienceMs: 0 })
    expect({ calls, sleeps }).toEqual({ calls: [1], sleeps: [] })
    expect(error).toMatchObject({ code: 'LIMIT', message: 'm: host failed (the host asks to wait 1 h)' })
    expect(exitCodeOf(error)).toBe(4)
  })
})

describe('with a fallback model', () => {
  it.each([limited, asking(0), asking(60 * minutes)])('does not wait for an overload', async (error) => {
    const ending = await run([error], { leavesOverloads: true })
    expect(ending).toEqual({ error, calls: [1], notices: [], sleeps: [] })
  })

  it('retries other failures', async () => {
    const { value, sleeps } = await run([down], { leavesOverloads: true })
    expect({ value, sleeps }).toEqual({ value: 'answer', sleeps: [100] })
  })
})

describe('with patience', () => {
  it.each([
    { name: '429', error: limited },
    { name: '503', error: failure({ isOverload: true, status: 503 }) },
    { name: '529', error: failure({ isOverload: true, status: 529 }) },
  ])('waits 5 s after $name, then twice as long each time up to 60 s, however often', async ({ error }) => {
    const { value, sleeps, calls } = await run([error, error, error, error, error, error], {
      clock: fakeClock({ draw: 0 }),
    })
    expect(value).toBe('answer')
    expect(sleeps).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
    expect(calls).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('waits as long as the host asks, also longer than two minutes', async () => {
    const { value, sleeps } = await run([asking(200), asking(5 * minutes)])
    expect({ value, sleeps }).toEqual({ value: 'answer', sleeps: [200, 5 * minutes] })
  })

  it('counts overloads separately from failures', async () => {
    const { value, sleeps, notices } = await run([down, limited, limited, down])
    expect(value).toBe('answer')
    expect(sleeps).toEqual([100, 5_000, 10_000, 200])
    expect(notices.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
  })

  it('reports the number of failures, not of calls, when those are too many', async () => {
    const { error, calls } = await run([down, limited, down, limited, down])
    expect(calls).toHaveLength(5)
    expect(error).toMatchObject({ message: 'm: host failed (after 3 attempts)' })
  })

  it('ends as a limit when the patience is used up, after a last wait for the rest', async () => {
    const { error, sleeps } = await run(endlessly(limited), { patienceMs: 2 * minutes })
    expect(sleeps).toEqual([5_000, 10_000, 20_000, 40_000, 45_000])
    expect(error).toMatchObject({
      code: 'LIMIT',
      message: 'm: host failed (waited 2 min)',
      hint: 'Run it again later, or raise [retry] patience, which is 2 min.',
    })
    expect(exitCodeOf(error)).toBe(4)
    expect(modelFailureOf(error)).toMatchObject({ class: 'rate_limit', status: 429 })
  })

  it('ends at once as a limit when the host asks for a longer wait than the rest, and says until when', async () => {
    const { error, sleeps, calls, notices } = await run([asking(90 * minutes)])
    expect({ calls, sleeps, notices }).toEqual({ calls: [1], sleeps: [], notices: [] })
    expect(error).toMatchObject({
      code: 'LIMIT',
      message: 'm: host failed (the host asks to wait 1 h 30 min)',
      hint: 'Run it again at 13:30 or later, or raise [retry] patience, which is 10 min.',
    })
  })

  it('subtracts what the call has waited already', async () => {
    const { error, sleeps } = await run([limited, asking(8 * minutes), asking(3 * minutes)])
    expect(sleeps).toEqual([5_000, 8 * minutes])
    const until = localTimeText(noon + 5_000 + 11 * minutes, noon)
    expect(error).toMatchObject({
      message: 'm: host failed (waited 8 min 5 s, and the host asks to wait 3 min)',
      hint: `Run it again at ${until} or later, or raise [retry] patience, which is 10 min.`,
    })
  })

  it('pauses between calls even if a host keeps asking for no wait', async () => {
    const { error, sleeps } = await run(endlessly(asking(0)), { patienceMs: 1 * minutes })
    expect(sleeps.slice(0, 9)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
    expect(sleeps.reduce((sum, ms) => sum + ms, 0)).toBe(1 * minutes)
    expect(error).toMatchObject({ code: 'LIMIT', message: 'm: host failed (waited 1 min)' })
  })
})

const refused = failure({ class: 'network' })
const broken = failure({ status: 500 })

describe('in an outage', () => {
  it('continues after the usual attempts, with waits that grow up to 30 s, until the host answers', async () => {
    const { value, sleeps } = await run(
      Array.from({ length: 11 }, () => refused),
      { outageMs: 10 * minutes },
    )
    expect(value).toBe('answer')
    expect(sleeps).toEqual([100, 200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it.each([refused, broken])(
    'ends after that time with the error of the host, the time it was tried, and the setting',
    async (error) => {
      const ending = await run(endlessly(error), { outageMs: 30_000 })
      expect(ending.sleeps.reduce((sum, ms) => sum + ms, 0)).toBe(30_000)
      expect(ending.error).toMatchObject({
        code: 'MODEL_FAILED',
        message: 'm: host failed (after 9 attempts in 30 s)',
        hint: 'Look there. To have it tried for longer, raise retry.patience, for example with -c retry.patience=1h; it is 30 s.',
        cause: error.cause,
      })
      expect(exitCodeOf(ending.error)).toBe(1)
    },
  )

  it('ends after ten answers that broke off, each of which may be paid for', async () => {
    const cut = failure({ class: 'network', isBroken: true })
    const { calls, error } = await run(endlessly(cut), { outageMs: 480 * minutes })
    expect(calls).toHaveLength(10)
    expect(error).toMatchObject({ message: 'm: host failed (after 10 attempts)', hint: 'Look there.' })
    const between = [refused, cut, refused, refused, cut]
    expect((await run(between, { outageMs: 480 * minutes })).value).toBe('answer')
  })

  it('reports with each wait how much longer it continues', async () => {
    const { notices } = await run([refused, refused, refused], { outageMs: 30_000 })
    expect(notices).toEqual([
      { attempt: 1, delayMs: 100, leftMs: 30_000, error: refused },
      { attempt: 2, delayMs: 200, leftMs: 29_900, error: refused },
      { attempt: 3, delayMs: 500, leftMs: 29_700, error: refused },
    ])
  })

  it('waits as long as the host asks, but not longer than the rest', async () => {
    const asks = (ms: number): BatonError => failure({ status: 500, retryAfterMs: ms })
    expect((await run([refused, refused, asks(8_000)], { outageMs: 30_000 })).sleeps).toEqual([100, 200, 8_000])
    const { error, calls } = await run([refused, refused, asks(60_000)], { outageMs: 30_000 })
    expect({ error, calls }).toMatchObject({ error: { code: 'MODEL_FAILED' }, calls: [1, 2, 3] })
  })

  it('starts again after the host has answered that it is overloaded', async () => {
    const { value, sleeps } = await run([refused, refused, limited, refused, refused], { outageMs: 1_000 })
    expect({ value, sleeps }).toEqual({ value: 'answer', sleeps: [100, 200, 5_000, 500, 500] })
  })

  it('does not wait if there is a fallback model', async () => {
    const { error, calls } = await run(endlessly(refused), { outageMs: 30_000, leavesOverloads: true })
    expect({ error, calls }).toMatchObject({
      error: { message: 'm: host failed (after 3 attempts)' },
      calls: [1, 2, 3],
    })
  })

  it('does not wait for a host that is slow, breaks off an answer, or only reports an error', async () => {
    const ended = failure({ class: 'network', isEnded: true })
    for (const error of [failure({ class: 'timeout' }), failure({ class: 'unavailable' }), ended]) {
      expect((await run(endlessly(error), { outageMs: 30_000 })).calls).toEqual([1, 2, 3])
    }
  })

  it('ends a wait with the reason of the signal', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const clock = fakeClock({ onSleep: (ms) => ms > 200 && stop.abort(reason) })
    const ending = await run(endlessly(refused), { outageMs: 30_000, clock, signal: stop.signal })
    expect(ending).toMatchObject({ error: reason, calls: [1, 2, 3] })
  })
})
