import { expect, it, onTestFinished, vi } from 'vitest'
import { startPausableLimit } from '../../src/base/pausable-limit.ts'

function timed(ms: number) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const onEnd = vi.fn()
  return { onEnd, limit: startPausableLimit(ms, onEnd) }
}

const waits = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms))

it('a limit does not count excluded work, also several at once', async () => {
  const { onEnd, limit } = timed(1000)
  await vi.advanceTimersByTimeAsync(600)
  const apart = Promise.all([limit.without(waits(5000)), limit.without(waits(2000))])
  await vi.advanceTimersByTimeAsync(5000)
  await apart
  await vi.advanceTimersByTimeAsync(390)
  expect(onEnd).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(20)
  expect(onEnd).toHaveBeenCalledOnce()
})

it('a limit that has ended is not restarted by excluded work', async () => {
  const { onEnd, limit } = timed(1000)
  const apart = limit.without(waits(100))
  limit.end()
  await vi.advanceTimersByTimeAsync(100)
  await apart
  await vi.advanceTimersByTimeAsync(10_000)
  expect([onEnd.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0])
})
