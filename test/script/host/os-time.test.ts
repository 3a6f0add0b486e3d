import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { dateFields, formatDate, osModule } from '../../../src/script/host/time.ts'
import { hostSection } from './host-section.ts'

const { call } = hostSection('/', { now: () => new Date('2024-02-29T13:07:09.500Z') })

function os(name: string, ...args: readonly LuaValue[]): LuaValue {
  return call(osModule, name, ...args)[0]
}

const moment = Date.UTC(2024, 1, 29, 13, 7, 9) / 1000

describe('os.time', () => {
  it('returns whole seconds of the clock of the run', () => {
    expect(os('time')).toBe(moment)
  })

  it('inverts a local date', () => {
    const fields = { year: 2024, month: 7, day: 4, hour: 5, min: 6, sec: 7 }
    expect(os('date', '*t', os('time', fields))).toMatchObject({ ...fields, wday: 5, yday: 186 })
  })

  it('is noon when no hour is given, and normalizes fields', () => {
    const noon = new Date(2024, 0, 31, 12).getTime() / 1000
    expect(os('time', { year: 2024, month: 1, day: 31 })).toBe(noon)
    expect(os('time', { year: 2023, month: 13, day: 30, hour: 36 })).toBe(noon)
    expect(os('date', '%Y', os('time', { year: 99, month: 1, day: 1 }))).toBe('99')
  })

  it('refuses what is not a date', () => {
    expect(() => os('time', { year: 2024, month: 1 })).toThrow("os.time: field 'day' missing in date table")
    expect(() => os('time', { year: 2024, month: 1, day: 1.5 })).toThrow("field 'day' must be a whole number")
    expect(() => os('time', 'now')).toThrow('argument 1 must be a table, but was string')
    expect(() => os('time', { year: 1e9, month: 1, day: 1 })).toThrow('out of range')
  })
})

describe('os.date', () => {
  it('returns the parts of a date in UTC', () => {
    expect(os('date', '!*t', moment)).toEqual({
      year: 2024,
      month: 2,
      day: 29,
      hour: 13,
      min: 7,
      sec: 9,
      wday: 5,
      yday: 60,
      isdst: false,
    })
    expect(os('date', '!%c')).toBe('Thu Feb 29 13:07:09 2024')
  })

  it.each([
    ['%Y-%m-%d %H:%M:%S', '2024-02-29 13:07:09'],
    ['%a %A %b %B %h', 'Thu Thursday Feb February Feb'],
    ['%d %e %j %I %p %y %C', '29 29 060 01 PM 24 20'],
    ['%D %F %R %T %r', '02/29/24 2024-02-29 13:07 13:07:09 01:07:09 PM'],
    ['%x %X %u %w', '02/29/24 13:07:09 4 4'],
    ['%U %W %V %G %g', '08 09 09 2024 24'],
    ['%s%n%t%%', `${moment}\n\t%`],
    ['%z %Z', '+0000 GMT'],
    ['%Ey %Od', '24 29'],
    ['plain ü', 'plain ü'],
    ['', ''],
  ])('formats %s', (format, expected) => {
    expect(os('date', `!${format}`, moment)).toBe(expected)
  })

  it.each(['%Q', '%Ez', '%Oy%', '%', '%é'])('refuses the conversion %s', (format) => {
    expect(() => os('date', format, moment)).toThrow(/bad argument #1 to 'date' \(invalid conversion specifier '%/)
  })

  it.each([
    [Date.UTC(2021, 0, 3), '2020 53 7'],
    [Date.UTC(2021, 0, 4), '2021 01 1'],
    [Date.UTC(2024, 11, 30), '2025 01 1'],
    [Date.UTC(2020, 11, 31), '2020 53 4'],
  ])('returns the ISO week of %d', (time, expected) => {
    expect(formatDate('%G %V %u', dateFields(time / 1000, { utc: true }))).toBe(expected)
  })

  it('refuses times that are not dates', () => {
    expect(() => os('date', '%c', 1e15)).toThrow('out of range')
    expect(() => os('date', '%c', 'soon')).toThrow('the time must be a whole number')
  })
})

describe('os.clock and os.difftime', () => {
  it('clock returns CPU seconds that never decrease', () => {
    const first = Number(os('clock'))
    expect(first).toBeGreaterThan(0)
    expect(Number(os('clock'))).toBeGreaterThanOrEqual(first)
  })

  it('difftime subtracts', () => {
    expect(os('difftime', 10, 4)).toBe(6)
    expect(() => os('difftime', 10)).toThrow('os.difftime: the time must be a whole number, but was nil')
  })
})
