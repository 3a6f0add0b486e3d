import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { timeModule } from '../../../src/script/host/time.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const moment = new Date('2026-01-05T03:04:09.087Z')
const host = hostSection('/', { now: () => moment })

function time(name: string): LuaValue {
  return host.call(timeModule, name)[0]
}

describe('aip.time', () => {
  it('returns the time in UTC', () => {
    expect(time('now_iso_utc')).toBe('2026-01-05T03:04:09Z')
    expect(time('now_iso_utc_micro')).toBe('2026-01-05T03:04:09.087000Z')
    expect(time('now_utc_micro')).toBe(1_767_582_249_087_000)
    expect(time('today_utc')).toBe('Monday 2026-01-05')
    expect(time('today_iso_utc')).toBe('2026-01-05')
    expect(time('weekday_utc')).toBe('Monday')
  })

  it('returns local times that denote the same moment', () => {
    const seconds = String(time('now_iso_local'))
    expect(seconds).toMatch(/^2026-01-0\dT\d\d:\d\d:09(?:Z|[+-]\d\d:\d\d)$/)
    expect(Date.parse(seconds)).toBe(moment.getTime() - 87)
    const micro = String(time('now_iso_local_micro'))
    expect(micro).toMatch(/:09\.087000(?:Z|[+-]\d\d:\d\d)$/)
    expect(Date.parse(micro.replace('087000', '087'))).toBe(moment.getTime())
  })

  it('returns local dates that match the local time', () => {
    const day = String(time('now_iso_local')).slice(0, 10)
    const weekday = new Intl.DateTimeFormat('en-US', { weekday: 'long' }).format(moment)
    expect(time('today_iso_local')).toBe(day)
    expect(time('weekday_local')).toBe(weekday)
    expect(time('today_local')).toBe(`${weekday} ${day}`)
    expect(time('local_tz_id')).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone)
  })

  it('is recorded, so that a resumed section sees the same time', async () => {
    const recording = hostSection('/', { now: () => moment })
    expect(await runLua(recording, 'return math.type(aip.time.now_utc_micro())')).toBe('integer')
    expect(recording.records.filter(({ k }) => k === 'obs')).toMatchObject([
      { name: 'aip.time.now_utc_micro', value: [1_767_582_249_087_000] },
    ])
  })
})
