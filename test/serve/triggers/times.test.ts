import { describe, expect, it } from 'vitest'
import type { Trigger } from '../../../src/config/triggers.ts'
import { parseSchedule } from '../../../src/config/cron.ts'
import { openTriggerMemory, type TriggerEvent, type TriggerMemory } from '../../../src/serve/triggers/memory.ts'
import { dueNow, followTimes } from '../../../src/serve/triggers/times.ts'
import { fakeClock } from '../../helpers/fake-clock.ts'
import { tempTree } from '../../helpers/temp.ts'

const utc = (text: string): number => Date.parse(text)
const iso = (time: number): string => new Date(time).toISOString().slice(0, 16)

function source(cron: string, missed: 'skip' | 'once' = 'skip', timeZone = 'UTC') {
  const schedule = parseSchedule(cron, timeZone)
  if (typeof schedule === 'string') throw new Error(schedule)
  return { kind: 'cron', cron, timeZone, missed, schedule } as const
}

function trigger(name: string, from: ReturnType<typeof source>): Trigger {
  return { name, source: from, enabled: true, problems: [] } as unknown as Trigger
}

function memory(): TriggerMemory {
  const home = tempTree()
  return openTriggerMemory(tempTree(), { env: { BATON_HOME: home }, home })
}

/** What is fired from `now` until so many events, and when. */
async function fired(
  triggers: readonly Trigger[],
  { now, count, kept = memory() }: { readonly now: number; readonly count: number; readonly kept?: TriggerMemory },
): Promise<readonly string[]> {
  const stop = new AbortController()
  const clock = fakeClock({ now })
  const all: string[] = []
  await followTimes({
    triggers,
    memory: kept,
    clock,
    signal: stop.signal,
    fire({ name }, { cause, about }: TriggerEvent) {
      all.push(`${name} ${cause} ${about.slice(0, 16)} at ${iso(clock.now())}`)
      if (all.length === count) stop.abort()
    },
  })
  return all
}

describe('times of triggers', () => {
  it('come at the minute, each once, in the order of several triggers', async () => {
    const triggers = [trigger('a', source('*/30 * * * *')), trigger('b', source('0 7 * * *'))]
    expect(await fired(triggers, { now: utc('2026-11-29T06:10:05Z'), count: 4 })).toEqual([
      'a cron 2026-11-29T06:30 at 2026-11-29T06:30',
      'a cron 2026-11-29T07:00 at 2026-11-29T07:00',
      'b cron 2026-11-29T07:00 at 2026-11-29T07:00',
      'a cron 2026-11-29T07:30 at 2026-11-29T07:30',
    ])
  })

  it('that were missed while no server ran are made up for once, or not at all', async () => {
    const now = utc('2026-11-29T12:20:00Z')
    for (const [missed, first] of [
      ['once', 'x missed 2026-11-28T13:00 at 2026-11-29T12:20'],
      ['skip', 'x cron 2026-11-29T13:00 at 2026-11-29T13:00'],
    ] as const) {
      const from = source('0 * * * *', missed)
      const kept = memory()
      kept.remember('x', { schedule: '0 * * * * UTC', until: utc('2026-11-28T12:30:00Z') })
      expect(await fired([trigger('x', from)], { now, count: 2, kept })).toEqual([
        first,
        missed === 'once'
          ? 'x cron 2026-11-29T13:00 at 2026-11-29T13:00'
          : 'x cron 2026-11-29T14:00 at 2026-11-29T14:00',
      ])
      if (missed === 'skip') continue
      // the next server finds nothing to make up for
      expect(await fired([trigger('x', from)], { now: utc('2026-11-29T13:10:00Z'), count: 1, kept })).toEqual([
        'x cron 2026-11-29T14:00 at 2026-11-29T14:00',
      ])
    }
  })

  it('of a new trigger, and of one whose times were changed, are never missed', async () => {
    const now = utc('2026-11-29T12:20:00Z')
    const kept = memory()
    kept.remember('x', { schedule: '0 1 * * * UTC', until: 0 })
    const next = 'x cron 2026-11-29T13:00 at 2026-11-29T13:00'
    expect(await fired([trigger('x', source('0 * * * *', 'once'))], { now, count: 1, kept })).toEqual([next])
    expect(await fired([trigger('x', source('0 * * * *', 'once'))], { now, count: 1 })).toEqual([next])
  })

  it('do not come twice if the clock is set back, and go on if it was far ahead', () => {
    const from = source('0 * * * *', 'once')
    const now = utc('2026-11-29T12:59:58Z')
    expect(dueNow(from, { until: utc('2026-11-29T13:00:00Z'), now })).toEqual({
      kind: 'wait',
      next: utc('2026-11-29T14:00:00Z'),
    })
  })

  it('that come while the machine sleeps count as missed after a minute', () => {
    const until = utc('2026-11-29T11:00:00Z')
    const time = utc('2026-11-29T12:00:00Z')
    const at = (now: string, missed: 'skip' | 'once') => dueNow(source('0 * * * *', missed), { until, now: utc(now) })
    expect(at('2026-11-29T12:00:50Z', 'skip')).toEqual({ kind: 'start', cause: 'cron', time })
    expect(at('2026-11-29T12:30:00Z', 'skip')).toEqual({ kind: 'pass', time })
    expect(at('2026-11-29T12:30:00Z', 'once')).toEqual({ kind: 'start', cause: 'missed', time })
    // several were missed and one is due now: one run
    expect(at('2026-11-29T15:00:10Z', 'once')).toEqual({
      kind: 'start',
      cause: 'cron',
      time: utc('2026-11-29T15:00:00Z'),
    })
  })

  it('of a day in a time zone come once when daylight saving begins and ends', () => {
    const { schedule } = source('30 2 * * *', 'skip', 'Europe/Berlin')
    const next = (after: string): string => iso(schedule.after(utc(after)) ?? 0)
    // 2:30 does not exist: it comes as soon as the clock has moved on, at 3:00
    expect(next('2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00')
    expect(next('2026-03-29T01:00:00Z')).toBe('2026-03-30T00:30')
    // 2:30 comes twice, at 0:30 and 1:30 UTC: only the first counts
    expect(next('2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30')
    expect(next('2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30')
  })

  it('every half an hour go on through both changes', () => {
    const { schedule } = source('*/30 * * * *', 'skip', 'Europe/Berlin')
    for (const start of ['2026-03-29T00:00:00Z', '2026-10-25T00:00:00Z']) {
      let time = utc(start)
      for (let count = 0; count < 8; count += 1) {
        const next = schedule.after(time) ?? 0
        expect(next - time).toBe(30 * 60_000)
        time = next
      }
    }
  })

  it.each([
    ['* * * * * *', /5/],
    ['61 * * * *', /minute: 61/],
    ['* * * *', /./],
    ['@reboot', /not supported/],
    ['rm -rf', /./],
  ])('refuse %s', (text, message) => expect(parseSchedule(text, undefined)).toMatch(message))
})
