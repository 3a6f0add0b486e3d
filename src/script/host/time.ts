import { dateFields, formatDate, type DateFields } from './date-format.ts'
import { type HostModule, type ModuleFunction, observing } from './module.ts'

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
