import type { LuaValue } from '../engine.ts'

/** Lists and objects may be nested this deep in either direction. */
export const deepest = 1_000

export function isList(value: object): value is readonly LuaValue[] {
  return Array.isArray(value)
}

/** True for objects without a class, also for those of another realm. */
export function isPlain(value: object): value is { readonly [key: string]: LuaValue } {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Names what cannot become a Lua value, for a message. */
export function describe(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? `an object of class ${value.constructor.name}`
    : `a ${typeof value}`
}
