/** The parts of a time, in UTC or in the local time zone. */
export type DateFields = Readonly<
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
