import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { integer, keyedTable, luaTypeName } from './arguments.ts'
import type { HostCall } from './call.ts'
import { dateFields, formatDate } from './date-format.ts'
import { type HostModule, observing, pure } from './module.ts'

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
