import type { LuaValue } from '../engine.ts'

export type Entry = readonly [key: string | number, value: LuaValue]

/** Keys in a fixed order, because the order of a Lua table differs from state to state. Text wins over an equal number. */
export function objectOf(entries: readonly Entry[]): LuaValue {
  const object: Record<string, LuaValue> = {}
  for (const [key, value] of entries.toSorted(byKey)) {
    if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true })
    else object[key] = value
  }
  return object
}

function byKey([left]: Entry, [right]: Entry): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1
  return left < right ? -1 : 1
}
