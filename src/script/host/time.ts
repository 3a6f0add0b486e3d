import { dateFields, formatDate, type DateFields } from './date-format.ts'
import type { HostModule, ModuleFunction } from './module.ts'

/**
 * `aip.time` (spec/aipack.md 6.2): texts as RFC 3339. The clock of a run counts milliseconds, so the last three of six
 * decimals are zeros. All functions observe: a resumed section sees the times it saw before.
 */
export const timeModule: HostModule = {
  name: 'aip.time',
  functions: {
    now_iso_utc: reading((now) => timestamp(now, { utc: true })),
    now_iso_local: reading((now) => timestamp(now, { utc: false })),
    now_iso_utc_micro: reading((now) => timestamp(now, { utc: true, decimals: true })),
    now_iso_local_micro: reading((now) => timestamp(now, { utc: false, decimals: true })),
    now_utc_micro: reading((now) => now.getTime() * 1000),
    today_utc: reading((now) => formatDate('%A %F', fieldsOf(now, { utc: true }))),
    today_local: reading((now) => formatDate('%A %F', fieldsOf(now, { utc: false }))),
    today_iso_utc: reading((now) => formatDate('%F', fieldsOf(now, { utc: true }))),
    today_iso_local: reading((now) => formatDate('%F', fieldsOf(now, { utc: false }))),
    weekday_utc: reading((now) => formatDate('%A', fieldsOf(now, { utc: true }))),
    weekday_local: reading((now) => formatDate('%A', fieldsOf(now, { utc: false }))),
    local_tz_id: reading(() => new Intl.DateTimeFormat().resolvedOptions().timeZone),
  },
}

function reading(read: (now: Date) => string | number): ModuleFunction {
  return { effect: 'observe', call: (_, { context }) => [read(context.now())] }
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
