import { describe, expect, it } from 'vitest'
import { durationText, localTimeText, systemClock } from '../../src/base/clock.ts'

describe('systemClock.sleep', () => {
  it('ends later when it is longer', async () => {
    const { signal } = new AbortController()
    const ended: number[] = []
    await Promise.all([30, 1].map((ms) => systemClock.sleep(ms, signal).then(() => ended.push(ms))))
    expect(ended).toEqual([1, 30])
  })

  it('rejects with the reason of its signal during a sleep', async () => {
    const stop = new AbortController()
    const reason = new Error('stop')
    const sleeping = systemClock.sleep(3_600_000, stop.signal)
    stop.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })

  it('does not begin when its signal is already aborted, even for zero time', async () => {
    const reason = new Error('stop')
    const signal = AbortSignal.abort(reason)
    await expect(systemClock.sleep(3_600_000, signal)).rejects.toBe(reason)
    await expect(systemClock.sleep(0, signal)).rejects.toBe(reason)
  })

  it('can be longer than the longest timer of Node, without a warning', async () => {
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

describe('durationText', () => {
  it.each([
    [0, '0 ms'],
    [250, '250 ms'],
    [999.7, '1 s'],
    [1_000, '1 s'],
    [1_500, '1.5 s'],
    [9_940, '9.9 s'],
    [9_960, '10 s'],
    [45_400, '45 s'],
    [59_700, '1 min'],
    [90_000, '1 min 30 s'],
    [600_000, '10 min'],
    [7_200_000, '2 h'],
    [7_230_000, '2 h'],
    [100_800_000, '1 d 4 h'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })
})

describe('localTimeText', () => {
  const noon = new Date(2026, 5, 10, 12, 0).getTime()

  it('shows the local time of the same day, in whole minutes, rounded up', () => {
    expect(localTimeText(noon, noon)).toBe('12:00')
    expect(localTimeText(noon + 1, noon)).toBe('12:01')
    expect(localTimeText(new Date(2026, 5, 10, 9, 5).getTime(), noon)).toBe('09:05')
  })

  it('includes the date on another day', () => {
    expect(localTimeText(new Date(2026, 5, 11, 0, 30).getTime(), noon)).toBe('2026-06-11 00:30')
  })

  it('has a text for a time beyond all dates', () => {
    expect(localTimeText(1e30, noon)).toMatch(/^27\d{4}-09-1\d \d\d:\d\d$/)
  })
})
