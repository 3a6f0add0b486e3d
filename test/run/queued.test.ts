import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLocalQueue, mapQueued, type QueuedWork } from '../../src/run/task-queue.ts'

function queued({ limit = 2, signal = new AbortController().signal }): QueuedWork<number> {
  const taskOf = (input: number, index: number) => ({ place: `task/${index}`, input })
  return { queue: createLocalQueue(), run: 'run', taskOf, limit, signal }
}

it('returns results in the order of the items, and none for none', async () => {
  expect(await mapQueued([30, 1, 10], queued({ limit: 3 }), (ms) => wait(ms, ms))).toEqual([30, 1, 10])
  expect(await mapQueued([], queued({}), async () => 1)).toEqual([])
})

it('aborts the others at the first failure, starts no more, and rejects with it once all have ended', async () => {
  const started: number[] = []
  const ended: number[] = []
  const all = mapQueued([0, 1, 2, 3], queued({}), async (item, _, signal) => {
    started.push(item)
    await wait(1)
    if (item === 0) throw new Error('first')
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    ended.push(item)
  })
  await expect(all).rejects.toThrow('first')
  expect({ started, ended }).toEqual({ started: [0, 1], ended: [1] })
})

it('rejects with the reason of the signal, also one that was aborted before', async () => {
  const stop = new AbortController()
  const all = mapQueued([1, 2, 3], queued({ limit: 1, signal: stop.signal }), async () => stop.abort(new Error('stop')))
  await expect(all).rejects.toThrow('stop')
  let calls = 0
  const late = mapQueued([1], queued({ signal: stop.signal }), async () => (calls += 1))
  await expect(late).rejects.toThrow('stop')
  expect(calls).toBe(0)
})
