import { argumentError, integer, type LuaTable } from './arguments.ts'

/** Timers cannot be longer than this: 24 days. */
const longest = 2 ** 31 - 1

/** An option in whole milliseconds, at least 1; nil and null stand for "not given". */
export function millisecondsOption(options: LuaTable, key: string, name: string): number | undefined {
  const value = options[key]
  if (value === undefined || value === null) return undefined
  const given = integer(value, name, `the option ${key}`)
  if (given >= 1 && given <= longest) return given
  throw argumentError(name, `the option ${key} must be between 1 and ${longest}, but was ${given}`)
}
