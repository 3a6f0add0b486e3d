import { messageOf } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, integer, isTable, type LuaTable, luaTypeName, text } from './arguments.ts'
import { dateFields, formatDate } from './date-format.ts'
import type { HostModule, Section } from './module.ts'

/**
 * The time functions of Lua's `os`; all else of it reaches outside and does not exist. They observe, so that a resumed
 * section sees the times it saw before. Unlike C, `os.time` leaves the table it is given as it is and works out summer
 * time itself.
 */
export const osModule: HostModule = {
  name: 'os',
  functions: {
    /**
     * `os.time(table?) → integer`
     * Now, or a date given by its fields in local time, in seconds since 1970.
     */
    time: { effect: 'observe', call: ([table], section) => [timeOf(table, section)] },
    /**
     * `os.date(format?, time?) → string`
     * A time as text, as in C, or with `*t` as a table; `!` in front means UTC.
     */
    date: { effect: 'observe', call: ([format, time], section) => [dateOf(format, time, section)] },
    /**
     * `os.clock() → number`
     * Seconds of processor time of the process.
     */
    clock: { effect: 'observe', call: () => [processorSeconds()] },
    /**
     * `os.difftime(later, earlier) → number`
     * Seconds between two times.
     */
    difftime: {
      effect: 'pure',
      call: ([later, earlier]) => [seconds(later, 'os.difftime') - seconds(earlier, 'os.difftime')],
    },
  },
}

function now({ context }: Section): number {
  return Math.floor(context.now().getTime() / 1000)
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function seconds(value: LuaValue, name: string): number {
  if (typeof value === 'number') return value
  return integer(value, name, 'the time')
}

const latest = 8.64e12

function timeOf(value: LuaValue, section: Section): number {
  const name = 'os.time'
  if (value === undefined) return now(section)
  if (!isTable(value)) throw argumentError(name, `argument 1 must be a table, but was ${luaTypeName(value)}`)
  const table = Array.isArray(value) ? {} : (value as LuaTable)
  const field = (key: string, missing?: number): number => {
    const given = table[key] ?? missing
    if (given === undefined) throw argumentError(name, `field '${key}' missing in date table`)
    return integer(given, name, `field '${key}'`)
  }
  // years below 100 mean themselves here; hours, minutes and seconds may run over, as in C
  const date = new Date(2000, 0, 1)
  date.setFullYear(field('year'), field('month') - 1, field('day'))
  const time = date.setHours(field('hour', 12), field('min', 0), field('sec', 0)) / 1000
  if (Number.isFinite(time)) return time
  throw argumentError(name, 'the date is too far away to be a time')
}

function dateOf(format: LuaValue, time: LuaValue, section: Section): LuaValue {
  const name = 'os.date'
  const wanted = format === undefined ? '%c' : text(format, name, 'the format')
  const utc = wanted.startsWith('!')
  const moment = time === undefined ? now(section) : integer(time, name, 'the time')
  if (Math.abs(moment) > latest) throw argumentError(name, 'the time is too far away to be a date')
  const fields = dateFields(moment, { utc })
  const pattern = wanted.slice(utc ? 1 : 0)
  if (pattern.startsWith('*t')) {
    const { year, month, day, hour, min, sec, wday, yday, isdst } = fields
    return { year, month, day, hour, min, sec, wday, yday, isdst }
  }
  try {
    return formatDate(pattern, fields)
  } catch (error) {
    throw argumentError(name, `bad argument #1 to 'date' (${messageOf(error)})`)
  }
}
