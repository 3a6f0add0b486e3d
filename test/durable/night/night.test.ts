import { describe, expect, it } from 'vitest'
import { core } from '../../helpers/series.ts'
import { hour, minute, type Night, playNight, second } from './night.ts'

// `npm run soak -- series night` plays the whole night. Its hours take about as many times ten seconds.

const short: Night = {
  iterate: '20m',
  answerMs: 4 * minute,
  outages: [
    { at: 3 * minute, ms: 5 * second, kind: 500 },
    { at: 7 * minute, ms: 2 * minute, kind: 'refused' },
  ],
  events: [
    { at: 11 * minute, kind: 'sleep', ms: 15 * minute },
    { at: 27 * minute, kind: 'clock', ms: -2 * hour },
  ],
  full: [],
  kills: [31 * minute],
}

const whole: Night = {
  iterate: '8h',
  answerMs: 4 * minute,
  outages: [
    { at: 10 * minute, ms: second, kind: 'refused' },
    { at: 21 * minute, ms: 5 * second, kind: 500 },
    { at: 40 * minute, ms: 30 * second, kind: 'reset' },
    { at: 55 * minute, ms: 2 * minute, kind: 503 },
    { at: 80 * minute, ms: 20 * minute, kind: 'refused' },
    { at: 120 * minute, ms: 3 * minute, kind: 429 },
    { at: 140 * minute, ms: 6 * minute, kind: 'silent' },
    { at: 160 * minute, ms: minute, kind: 'cut' },
    { at: 175 * minute, ms: 12 * minute, kind: 502 },
    { at: 400 * minute, ms: 20 * minute, kind: 504 },
    { at: 440 * minute, ms: 4 * minute, kind: 408 },
  ],
  events: [
    { at: 200 * minute, kind: 'sleep', ms: 90 * minute },
    { at: 310 * minute, kind: 'clock', ms: -2 * hour },
    { at: 330 * minute, kind: 'clock', ms: 5 * hour },
  ],
  full: [[360 * minute, 380 * minute]],
  kills: [150 * minute, 390 * minute],
}

describe('a night of iterations with outages, sleep, a clock that is set, and kills', () => {
  const night = core(short, whole)

  it('ends when its time is over, with one report, and nothing is paid twice', { timeout: 600_000 }, async () => {
    const { codes, answered, lines, last, report, elapsedMs, stderr } = await playNight(night)
    // killed, or out of room, and at its end
    expect(codes.at(-1)).toBe(0)
    expect(codes.slice(0, -1).filter((code) => code !== null && code !== 1)).toEqual([])
    // there is no record of an answer that arrives in the moment of a kill, or while the disk is full
    const again = [...answered.values()].reduce((sum, times) => sum + times - 1, 0)
    expect(again).toBeLessThan(codes.length)
    expect(lines, `${stderr}\n${report}`).toHaveLength(answered.size)
    expect(new Set(lines).size).toBe(lines.length)
    expect(last).toMatchObject({ status: 'done', exit: 0 })
    expect(report).toContain(`${lines.length} of ${lines.length} iterations done`)
    const sum = (times: readonly { readonly ms: number }[]): number => times.reduce((all, { ms }) => all + ms, 0)
    const slept = sum(night.events.filter(({ kind }) => kind === 'sleep'))
    // however the process ended in which the machine slept
    expect(report).toMatch(/, asleep for \d/)
    const lost = sum(night.full.map(([from, to]) => ({ ms: to - from })))
    const worked = Number(last['duration_ms'])
    const most = elapsedMs - slept
    // neither sleep nor a clock that is set is time in which it worked
    expect(worked - most).toBeLessThan(codes.length * minute)
    // of a killed process, what it did after its last record is not known: it waited, at most for the longest outage
    const unknown = night.kills.length * Math.max(...night.outages.map(({ ms }) => ms + night.answerMs))
    expect(most - lost - unknown - worked).toBeLessThan(codes.length * minute)
  })
})
