import { describe, expect, it } from 'vitest'
import { durationText, localTimeText } from '../../src/base/time-text.ts'

describe('durationText', () => {
  it.each([
    [0, '0 ms'],
    [250, '250 ms'],
    [999.7, '1 s'],
    [1_000, '1 s'],
    [45_400, '45 s'],
    [59_700, '1 min'],
    [90_000, '1 min 30 s'],
    [600_000, '10 min'],
    [7_200_000, '2 h'],
    [7_230_000, '2 h'],
    [100_800_000, '1 d 4 h'],
  ])('says %d ms as %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })
})

describe('localTimeText', () => {
  const noon = new Date(2026, 5, 10, 12, 0).getTime()

  it('gives the local time of the same day, in whole minutes, never too early', () => {
    expect(localTimeText(noon, noon)).toBe('12:00')
    expect(localTimeText(noon + 1, noon)).toBe('12:01')
    expect(localTimeText(new Date(2026, 5, 10, 9, 5).getTime(), noon)).toBe('09:05')
  })

  it('gives the date too when it is another day', () => {
    expect(localTimeText(new Date(2026, 5, 11, 0, 30).getTime(), noon)).toBe('2026-06-11 00:30')
  })

  it('has a text for a time that is beyond all dates', () => {
    expect(localTimeText(1e30, noon)).toMatch(/^27\d{4}-09-1\d \d\d:\d\d$/)
  })
})
