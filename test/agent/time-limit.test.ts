import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type TimeLimit, timeLimitOf, withTimeLimit } from '../../src/agent/time-limit.ts'
import { BatonError } from '../../src/base/error.ts'
import type { RunContext } from '../../src/event/context.ts'
import { testContext } from '../helpers/context.ts'

const limit = (ms: number): TimeLimit => ({ ms, whose: 'agent "a"', isUsual: false })

/** Works until it is stopped. */
async function forever({ services: { signal } }: RunContext): Promise<never> {
  await wait(60_000, undefined, { signal }).catch(() => {})
  signal.throwIfAborted()
  throw new Error('nobody stopped it')
}

describe('the time limit of an agent', () => {
  it('stops its work, and is the reported error whatever noticed it first (R303)', async () => {
    const noticed = withTimeLimit(limit(20), testContext(), (context) =>
      forever(context).catch(() => {
        throw new BatonError('MODEL_FAILED', 'the connection was closed')
      }),
    )
    await expect(noticed).rejects.toMatchObject({
      code: 'LIMIT',
      reason: 'AGENT_TIMEOUT',
      message: 'agent "a" took longer than its timeout, 20 ms',
      hint: expect.stringContaining('Raise timeout'),
    })
  })

  it('does not affect work that ends in time, fails by itself, or is stopped by the run', async () => {
    await expect(withTimeLimit(limit(60_000), testContext(), async () => 'done')).resolves.toBe('done')
    const failed = withTimeLimit(limit(60_000), testContext(), () => Promise.reject(new Error('its own')))
    await expect(failed).rejects.toThrow('its own')
    const run = new AbortController()
    const stopped = withTimeLimit(limit(60_000), testContext({ signal: run.signal }), forever)
    run.abort(new Error('the run was stopped'))
    await expect(stopped).rejects.toThrow('the run was stopped')
  })

  it('does not hide that the run cannot continue', async () => {
    const work = withTimeLimit(limit(10), testContext(), (context) =>
      forever(context).catch(() => {
        throw new BatonError('JOURNAL_FAILED', 'the disk is full')
      }),
    )
    await expect(work).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  })

  it('is paused while a person is asked, also that of an enclosing agent', async () => {
    const asked = withTimeLimit(limit(40), testContext(), (outer) =>
      withTimeLimit(limit(40), outer, async ({ services: { asking, signal } }) => {
        // two questions at the same time
        await Promise.all([asking?.(() => wait(120)), asking?.(() => wait(200))])
        return signal.aborted
      }),
    )
    await expect(asked).resolves.toBe(false)
    const late = withTimeLimit(limit(40), testContext(), async (context) => {
      await context.services.asking?.(() => wait(80))
      return forever(context)
    })
    await expect(late).rejects.toMatchObject({ code: 'LIMIT' })
  })

  it('is that of the agent, otherwise that of all agents, otherwise none', () => {
    const context = testContext({ scope: { agentMs: 500 } })
    expect(timeLimitOf({ own: 20, whose: 'x' }, context)).toEqual({ ms: 20, whose: 'x', isUsual: false })
    expect(timeLimitOf({ own: undefined, whose: 'x' }, context)).toEqual({ ms: 500, whose: 'x', isUsual: true })
    expect(timeLimitOf({ own: undefined, whose: 'x' }, testContext())).toBeUndefined()
  })
})
