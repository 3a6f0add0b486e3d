import { expect, it } from 'vitest'
import { createBusyTime } from '../../src/base/busy-time.ts'

it('is charged in full for a single worker, and in equal shares for concurrent ones', () => {
  let busyMs = 100
  const busy = createBusyTime(() => busyMs)
  const charged = (ms: number): number => {
    const before = busy.shareMs()
    busyMs += ms
    return busy.shareMs() - before
  }
  busy.join()
  expect(charged(60)).toBe(60)
  busy.join()
  busy.join()
  expect(charged(60)).toBe(20)
  busy.leave()
  expect(charged(60)).toBe(30)
})

it('measures what the thread does, not what it waits for', async () => {
  const busy = createBusyTime()
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  await sleep(1)
  const atStart = busy.shareMs()
  await sleep(300)
  const asleep = busy.shareMs() - atStart
  const end = performance.now() + 300
  while (performance.now() < end);
  const awake = busy.shareMs() - atStart - asleep
  expect(awake).toBeGreaterThan(299)
  expect(asleep).toBeLessThan(awake)
})
