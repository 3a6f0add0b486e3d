import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'

describe('systemClock.sleep', () => {
  it('ends later when it is longer', async () => {
    const { signal } = new AbortController()
    const ended: number[] = []
    await Promise.all([30, 1].map((ms) => systemClock.sleep(ms, signal).then(() => ended.push(ms))))
    expect(ended).toEqual([1, 30])
  })

  it('rejects with the reason of its signal in the middle of a sleep', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const sleeping = systemClock.sleep(3_600_000, stop.signal)
    stop.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })

  it('does not begin when its signal is aborted already, not even for no time', async () => {
    const reason = new Error('stop')
    const signal = AbortSignal.abort(reason)
    await expect(systemClock.sleep(3_600_000, signal)).rejects.toBe(reason)
    await expect(systemClock.sleep(0, signal)).rejects.toBe(reason)
  })

  it('sleeps longer than the longest timer of Node, quietly', async () => {
    const warnings: string[] = []
    const onWarning = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', onWarning)
    const stop = new AbortController()
    const month = systemClock.sleep(30 * 86_400_000, stop.signal).then(() => 'slept')
    const first = await Promise.race([month, systemClock.sleep(10, stop.signal).then(() => 'still sleeping')])
    process.off('warning', onWarning)
    expect(first).toBe('still sleeping')
    expect(warnings).not.toContain('TimeoutOverflowWarning')
    stop.abort(new Error('stop'))
    await expect(month).rejects.toThrow('stop')
  })
})
