import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Trigger } from '../../../src/config/triggers.ts'
import { triggersFolder } from '../../../src/journal/run-id.ts'
import { openTriggerMemory, type TriggerEvent } from '../../../src/serve/triggers/memory.ts'
import { createStarts } from '../../../src/serve/triggers/starts.ts'
import { Refusal } from '../../../src/serve/refusal.ts'
import { BatonError } from '../../../src/base/error.ts'
import { fakeClock } from '../../helpers/fake-clock.ts'
import { tempTree } from '../../helpers/temp.ts'

const event: TriggerEvent = { cause: 'cron', about: '' }

/** Starts of one trigger, whose runs end when they are told to. */
function world(overlap: Trigger['overlap'] = 'skip') {
  const home = tempTree()
  const memory = openTriggerMemory(home, { env: { BATON_HOME: home }, home })
  const running = new Set<string>()
  const queued = new Set<string>()
  const waiting = new Set<string>()
  const errors: unknown[] = []
  const stop = new AbortController()
  let count = 0
  const trigger = { name: 'x', overlap, enabled: true, problems: [] } as unknown as Trigger
  const now: { trigger: Trigger | undefined } = { trigger }
  const starts = createStarts({
    async begin() {
      const error = errors.shift()
      if (error !== undefined) throw error as Error
      const run = `run-${(count += 1)}`
      running.add(run)
      return run
    },
    stateOf: async (run) => (waiting.has(run) ? 'waiting' : running.has(run) ? 'running' : 'over'),
    staysForAnswers: true,
    current: () => now.trigger,
    isQueued: (run) => queued.has(run),
    memory,
    clock: fakeClock(),
    signal: stop.signal,
  })
  return {
    starts,
    home,
    memory,
    running,
    waiting,
    now,
    queued,
    errors,
    stop,
    trigger,
    fire: (payload?: TriggerEvent['payload']) =>
      starts.fire(trigger, payload === undefined ? event : { ...event, payload }),
    end: (run: string) => void running.delete(run),
  }
}

describe('starts of a trigger', () => {
  it('are skipped while its run is in progress, also one of another process', async () => {
    const { fire, end, starts, memory, running } = world()
    expect(await fire()).toEqual({ kind: 'started', run: 'run-1' })
    expect(await fire()).toEqual({ kind: 'skipped', message: 'run run-1 is in progress' })
    expect(memory.of('x')).toMatchObject({ last: { outcome: 'skipped' }, run: 'run-1' })
    end('run-1')
    await starts.over('x')
    running.add('by-hand')
    memory.remember('x', { run: 'by-hand' })
    expect(await fire()).toEqual({ kind: 'skipped', message: 'run by-hand is in progress' })
  })

  it('are skipped while its run waits for an answer, and with queue wait for the end of that', async () => {
    const { fire, end, starts, waiting } = world()
    await fire()
    waiting.add('run-1')
    expect(await fire()).toEqual({ kind: 'skipped', message: 'run run-1 waits for an answer' })
    waiting.delete('run-1')
    end('run-1')
    await starts.over('x')
    const next = world('queue')
    next.waiting.add('earlier')
    next.memory.remember('x', { run: 'earlier' })
    expect(await next.fire('sent')).toEqual({ kind: 'queued' })
    expect(next.running.size).toBe(0)
    next.waiting.delete('earlier')
    await expect.poll(() => [...next.running]).toEqual(['run-1'])
  })

  it('that wait start as the trigger is written then, or not at all', async () => {
    const { fire, end, starts, memory, now, trigger, running } = world('queue')
    await fire('first')
    await fire('second')
    await fire('third')
    now.trigger = { ...trigger, overlap: 'allow' }
    end('run-1')
    await expect.poll(() => [...running]).toEqual(['run-2'])
    now.trigger = { ...trigger, enabled: false }
    end('run-2')
    await starts.over('x')
    expect(starts.waiting('x')).toBe(0)
    expect(memory.left()).toEqual([])
  })

  it('wait for each other with queue, 100 at most, and run at once with allow', async () => {
    const { fire, end, starts, running } = world('queue')
    expect(await fire()).toEqual({ kind: 'started', run: 'run-1' })
    for (let count = 0; count < 100; count += 1) expect(await fire(count)).toEqual({ kind: 'queued' })
    expect(await fire()).toEqual({ kind: 'skipped', message: '100 others are waiting already' })
    expect([...running]).toEqual(['run-1'])
    const over = starts.over('x')
    for (let count = 1; count <= 101; count += 1) {
      while (!running.has(`run-${count}`)) await new Promise((resolve) => setImmediate(resolve))
      expect(running.size).toBe(1)
      end(`run-${count}`)
    }
    await over
    const parallel = world('allow')
    expect([await parallel.fire(), await parallel.fire()]).toEqual([
      { kind: 'started', run: 'run-1' },
      { kind: 'started', run: 'run-2' },
    ])
    expect(parallel.starts.running('x')).toEqual(['run-1', 'run-2'])
  })

  it('wait until the server has room for a run', async () => {
    const { fire, errors, starts, memory } = world()
    errors.push(new Refusal(429, 'full'), new Refusal(429, 'full'))
    expect(await fire()).toEqual({ kind: 'queued' })
    while (starts.running('x').length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(memory.of('x')).toMatchObject({ last: { outcome: 'started', run: 'run-1' } })
  })

  it('are left to the next server while their runs have not begun', async () => {
    const { fire, memory, queued, stop } = world()
    queued.add('run-1')
    expect(await fire('sent')).toEqual({ kind: 'started', run: 'run-1' })
    expect(memory.left().map((one) => one.event.payload)).toEqual(['sent'])
    queued.delete('run-1')
    await expect.poll(() => memory.left()).toEqual([])
    stop.abort()
  })

  it('that the end of the server interrupts wait for the next one if something was sent', async () => {
    const interrupted = (payload?: string) => {
      const { fire, errors, stop, memory } = world()
      errors.push(new Refusal(503, 'the server is stopping'))
      const fired = fire(payload)
      stop.abort()
      return { fired, memory }
    }
    const sent = interrupted('sent')
    expect(await sent.fired).toEqual({ kind: 'queued' })
    expect(sent.memory.left().map((one) => one.event.payload)).toEqual(['sent'])
    const other = interrupted()
    expect(await other.fired).toEqual({ kind: 'failed', message: 'the server is stopping' })
    expect(other.memory.left()).toEqual([])
  })

  it('that cannot be kept fail, and the next one is tried', async () => {
    const { fire, home, memory } = world()
    const waiting = join(triggersFolder({ env: { BATON_HOME: home }, home }, home), 'waiting')
    rmSync(waiting, { recursive: true })
    expect(await fire('sent')).toEqual({ kind: 'failed', message: expect.stringMatching(/^it cannot be kept: ENOENT/) })
    expect(memory.of('x')).toMatchObject({ last: { outcome: 'failed' } })
    mkdirSync(waiting)
    expect(await fire('sent')).toEqual({ kind: 'started', run: 'run-1' })
  })

  it('that fail say why, and the next one is tried', async () => {
    const { fire, errors, memory } = world()
    errors.push(new BatonError('UNTRUSTED', 'not trusted', { hint: 'Trust it.' }), new Error('a detail'))
    expect(await fire()).toEqual({ kind: 'failed', message: 'not trusted. Trust it.' })
    expect(await fire()).toEqual({ kind: 'failed', message: 'internal server error' })
    expect(memory.of('x')).toMatchObject({ last: { outcome: 'failed', message: 'internal server error' } })
    expect(await fire()).toEqual({ kind: 'started', run: 'run-1' })
  })

  it('that wait are left to the next server, unless their trigger is gone', async () => {
    const { fire, memory, trigger, stop } = world('queue')
    await fire('first')
    await fire('second')
    stop.abort()
    expect(memory.left().map((one) => one.event.payload)).toEqual(['second'])
    const next = world('queue')
    const starts = createStarts({
      begin: async (_trigger, { payload }) => String(payload),
      stateOf: async () => 'over',
      staysForAnswers: true,
      current: () => trigger,
      isQueued: () => false,
      memory,
      clock: fakeClock(),
      signal: new AbortController().signal,
    })
    starts.takeLeft([trigger])
    await starts.over('x')
    expect(memory.of('x')).toMatchObject({ run: 'second' })
    expect(memory.left()).toEqual([])
    next.memory.wait({ trigger: 'gone', event })
    next.starts.takeLeft([next.trigger])
    expect(next.memory.left()).toEqual([])
  })
})
