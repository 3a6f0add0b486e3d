import { type HostModule, type ModuleFunction, observing, pure } from './module.ts'
import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { type HostCall, integer, keyedTable, luaTypeName } from './call.ts'

/**
 * `aip.time`: times as text in the format of RFC 3339. The clock of a run counts milliseconds, so the last three of six
 * decimals are zeros. All functions observe: a resumed section sees the times it saw before.
 */
export const timeModule: HostModule = {
  name: 'aip.time',
  functions: {
    /** `aip.time.now_iso_utc() → string` Now in UTC, to the second: `2026-02-22T19:22:22Z`. */
    now_iso_utc: reading((now) => timestamp(now, { utc: true })),
    /** `aip.time.now_iso_local() → string` The same in local time, with its offset from UTC. */
    now_iso_local: reading((now) => timestamp(now, { utc: false })),
    /** `aip.time.now_iso_utc_micro() → string` Now in UTC with six decimals, of which the last three are zeros. */
    now_iso_utc_micro: reading((now) => timestamp(now, { utc: true, decimals: true })),
    /** `aip.time.now_iso_local_micro() → string` The same in local time. */
    now_iso_local_micro: reading((now) => timestamp(now, { utc: false, decimals: true })),
    /** `aip.time.now_utc_micro() → integer` Now in microseconds since 1970. */
    now_utc_micro: reading((now) => now.getTime() * 1000),
    /** `aip.time.today_utc() → string` Weekday and date in UTC: `Sunday 2026-02-22`. */
    today_utc: reading((now) => formatDate('%A %F', fieldsOf(now, { utc: true }))),
    /** `aip.time.today_local() → string` Weekday and date in local time. */
    today_local: reading((now) => formatDate('%A %F', fieldsOf(now, { utc: false }))),
    /** `aip.time.today_iso_utc() → string` The date in UTC: `2026-02-22`. */
    today_iso_utc: reading((now) => formatDate('%F', fieldsOf(now, { utc: true }))),
    /** `aip.time.today_iso_local() → string` The date in local time. */
    today_iso_local: reading((now) => formatDate('%F', fieldsOf(now, { utc: false }))),
    /** `aip.time.weekday_utc() → string` The weekday in UTC, in English. */
    weekday_utc: reading((now) => formatDate('%A', fieldsOf(now, { utc: true }))),
    /** `aip.time.weekday_local() → string` The weekday in local time, in English. */
    weekday_local: reading((now) => formatDate('%A', fieldsOf(now, { utc: false }))),
    /** `aip.time.local_tz_id() → string` The name of the local time zone, such as `Europe/Berlin`. */
    local_tz_id: reading(() => new Intl.DateTimeFormat().resolvedOptions().timeZone),
  },
}

function reading(read: (now: Date) => string | number): ModuleFunction {
  return observing(({ context }) => read(context.services.now()))
}

function fieldsOf(now: Date, { utc }: { readonly utc: boolean }): DateFields {
  return dateFields(Math.floor(now.getTime() / 1000), { utc })
}

function timestamp(
  now: Date,
  { utc, decimals = false }: { readonly utc: boolean; readonly decimals?: boolean },
): string {
  const fields = fieldsOf(now, { utc })
  const fraction = decimals ? `.${String(now.getUTCMilliseconds()).padStart(3, '0')}000` : ''
  return formatDate('%FT%T', fields) + fraction + offsetText(fields)
}

/** `Z`, or hours and minutes with a colon: `-05:00`. */
function offsetText(fields: DateFields): string {
  return fields.offset === 0 ? 'Z' : formatDate('%z', fields).replace(/(?=..$)/, ':')
}

/**
 * The time functions of Lua's `os`; the other functions of `os` would reach outside and do not exist. They observe, so
 * that a resumed section sees the same times again. Unlike in C, `os.time` does not change its argument and determines
 * daylight saving time itself.
 */
export const osModule: HostModule = {
  name: 'os',
  functions: {
    /**
     * `os.time(table?) → integer` The current time, or the date given by fields in local time, in seconds since 1970.
     */
    time: observing(timeOf),
    /** `os.date(format?, time?) → string` A time as text, as in C, or as a table for `*t`; a leading `!` means UTC. */
    date: observing(dateOf),
    /** `os.clock() → number` CPU time of the process in seconds. */
    clock: observing(() => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }),
    /** `os.difftime(later, earlier) → number` Seconds between two times. */
    difftime: pure((call) => seconds(call, 0) - seconds(call, 1)),
  },
  // the host returns whole numbers as integers, but this function of Lua returns a float
  lua: {
    name: 'os',
    text: `
local difference = os.difftime
function os.difftime(later, earlier) return difference(later, earlier) + 0.0 end
`,
  },
}

function now({ context }: HostCall): number {
  return Math.floor(context.services.now().getTime() / 1000)
}

function seconds(call: HostCall, index: number): number {
  const value = call.args[index]
  return typeof value === 'number' ? value : call.integer(index, 'the time')
}

const latest = 8.64e12

function timeOf(call: HostCall): number {
  const [value] = call.args
  if (value === undefined) return now(call)
  const table = keyedTable(value)
  if (table === undefined) throw call.error(`argument 1 must be a table, but was ${luaTypeName(value)}`)
  const field = (key: string, missing?: number): number => {
    const given = table[key] ?? missing
    if (given === undefined) throw call.error(`field '${key}' missing in date table`)
    return integer(given, call.name, `field '${key}'`)
  }
  // unlike in the Date constructor, years below 100 are literal; as in C, fields may exceed their range
  const date = new Date(2000, 0, 1)
  date.setFullYear(field('year'), field('month') - 1, field('day'))
  const time = date.setHours(field('hour', 12), field('min', 0), field('sec', 0)) / 1000
  if (Number.isFinite(time)) return time
  throw call.error('the date is out of range')
}

function dateOf(call: HostCall): LuaValue {
  const [format, time] = call.args
  const wanted = format === undefined ? '%c' : call.text(0, 'the format')
  const utc = wanted.startsWith('!')
  const moment = time === undefined ? now(call) : call.integer(1, 'the time')
  if (Math.abs(moment) > latest) throw call.error('the time is out of range')
  const fields = dateFields(moment, { utc })
  const pattern = wanted.slice(utc ? 1 : 0)
  if (pattern.startsWith('*t')) {
    const { year, month, day, hour, min, sec, wday, yday, isdst } = fields
    return { year, month, day, hour, min, sec, wday, yday, isdst }
  }
  try {
    return formatDate(pattern, fields)
  } catch (error) {
    throw call.error(`bad argument #1 to 'date' (${messageOf(error)})`)
  }
}

/** The parts of a time, in UTC or in the local time zone. */
type DateFields = Readonly<
  Record<'year' | 'month' | 'day' | 'hour' | 'min' | 'sec' | 'wday' | 'yday' | 'offset' | 'seconds', number>
> & { readonly isdst: boolean; readonly zone: string }

/**
 * The parts of a time in seconds since 1970. Months, weekdays (from Sunday) and days of the year count from 1; `offset`
 * is in minutes east of UTC.
 */
export function dateFields(seconds: number, { utc }: { readonly utc: boolean }): DateFields {
  const moment = new Date(seconds * 1000)
  const offset = utc ? 0 : -moment.getTimezoneOffset()
  const shifted = new Date(moment.getTime() + offset * 60_000)
  const year = shifted.getUTCFullYear()
  const yday = Math.floor((shifted.getTime() - startOfYear(year)) / 86_400_000) + 1
  return {
    year,
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    min: shifted.getUTCMinutes(),
    sec: shifted.getUTCSeconds(),
    wday: shifted.getUTCDay() + 1,
    yday,
    isdst: !utc && offset !== standardOffset(moment.getFullYear()),
    offset,
    zone: utc ? 'GMT' : zoneName(moment),
    seconds,
  }
}

function startOfYear(year: number): number {
  return new Date(Date.UTC(2000, 0, 1)).setUTCFullYear(year)
}

/** The offset of standard time: the smaller of the two. */
function standardOffset(year: number): number {
  const winter = -new Date(year, 0, 1).getTimezoneOffset()
  const summer = -new Date(year, 6, 1).getTimezoneOffset()
  return Math.min(winter, summer)
}

function zoneName(moment: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(moment)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const months = 'January February March April May June July August September October November December'.split(' ')

type Conversion = (fields: DateFields) => string

/**
 * The conversions of `strftime` in C99, in the C locale. Written here because libraries lack %g, %G, %V, %j and %E, or
 * differ in them.
 */
const conversions: Readonly<Record<string, Conversion | string>> = {
  a: ({ wday }) => (weekdays[wday - 1] ?? '').slice(0, 3),
  A: ({ wday }) => weekdays[wday - 1] ?? '',
  b: ({ month }) => (months[month - 1] ?? '').slice(0, 3),
  B: ({ month }) => months[month - 1] ?? '',
  c: '%a %b %e %H:%M:%S %Y',
  C: ({ year }) => pad(Math.floor(year / 100)),
  d: ({ day }) => pad(day),
  D: '%m/%d/%y',
  e: ({ day }) => String(day).padStart(2),
  F: '%Y-%m-%d',
  g: (fields) => pad(isoWeek(fields).year % 100),
  G: (fields) => String(isoWeek(fields).year),
  h: '%b',
  H: ({ hour }) => pad(hour),
  I: ({ hour }) => pad(hour % 12 === 0 ? 12 : hour % 12),
  j: ({ yday }) => pad(yday, 3),
  m: ({ month }) => pad(month),
  M: ({ min }) => pad(min),
  n: () => '\n',
  p: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  r: '%I:%M:%S %p',
  R: '%H:%M',
  s: ({ seconds }) => String(seconds),
  S: ({ sec }) => pad(sec),
  t: () => '\t',
  T: '%H:%M:%S',
  u: ({ wday }) => String(wday === 1 ? 7 : wday - 1),
  U: ({ yday, wday }) => pad(Math.floor((yday + 7 - wday) / 7)),
  V: (fields) => pad(isoWeek(fields).week),
  w: ({ wday }) => String(wday - 1),
  W: ({ yday, wday }) => pad(Math.floor((yday + 6 - ((wday + 5) % 7)) / 7)),
  x: '%m/%d/%y',
  X: '%H:%M:%S',
  y: ({ year }) => pad(((year % 100) + 100) % 100),
  Y: ({ year }) => String(year),
  z: ({ offset }) => `${offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}${pad(Math.abs(offset) % 60)}`,
  Z: ({ zone }) => zone,
  '%': () => '%',
}

/** Formats a date as `strftime` does, in the C locale. @throws Error naming an unknown conversion */
export function formatDate(format: string, fields: DateFields): string {
  return format.replaceAll(/%(?:E(?=[cCxXyY])|O(?=[deHImMSuUVwWy]))?([^]?)/g, (all: string, letter: string) => {
    const conversion = Object.hasOwn(conversions, letter) ? conversions[letter] : undefined
    if (conversion === undefined) throw new Error(`invalid conversion specifier '${all}'`)
    return typeof conversion === 'string' ? formatDate(conversion, fields) : conversion(fields)
  })
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0')
}

/** ISO 8601: weeks start on Monday, and the first one contains the first Thursday. */
function isoWeek({ year, yday, wday }: DateFields): { readonly year: number; readonly week: number } {
  const thursday = yday - ((wday + 5) % 7) + 3
  if (thursday < 1) return { year: year - 1, week: Math.ceil((thursday + daysIn(year - 1)) / 7) }
  if (thursday > daysIn(year)) return { year: year + 1, week: 1 }
  return { year, week: Math.ceil(thursday / 7) }
}

function daysIn(year: number): number {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365
}
