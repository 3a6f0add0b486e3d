import { encode, type FengariApi, type FengariThread } from './library.ts'

/** An argument of a native function, counted from 1. */
export interface Argument {
  readonly api: FengariApi
  readonly thread: FengariThread
  readonly index: number
}

/** An integer of at most 64 bits. Raises a Lua error for other values. */
export function checkInteger(argument: Argument): number {
  const value = argument.api.luaL_checknumber(argument.thread, argument.index)
  if (Number.isInteger(value) && Math.abs(value) <= 2 ** 63) return value
  return failArgument(argument, 'number has no integer representation')
}

export function failArgument({ api, thread, index }: Argument, message: string): never {
  return api.luaL_argerror(thread, index, encode(message))
}
