export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** A plain object: not null, not a list. */
export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value)
}

/** A deep copy that shares nothing with the original. */
export function cloneJson<T extends Json>(value: T): T {
  return structuredClone(value)
}

/** JSON text with sorted keys: equal values give equal text, so that it can be hashed. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sorted(value))
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  )
}

export function equalJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (!isObject(left) && !Array.isArray(left)) return false
  if (!isObject(right) && !Array.isArray(right)) return false
  const [ours, theirs] = [Object.entries<Json>(left), right as JsonObject]
  if (Array.isArray(left) !== Array.isArray(right) || ours.length !== Object.keys(right).length) return false
  return ours.every(([key, value]) => Object.hasOwn(theirs, key) && equalJson(value, theirs[key]))
}

/** Deeper values that come from outside are refused: code that reads them later is recursive. */
export const maxJsonDepth = 200

/** Whether a value has parts below this many levels; looks no deeper. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return levels === 0 ? parts.length > 0 : parts.some((part) => isDeeper(part, levels - 1))
}

/**
 * Parses JSON that a model, a server, a program or a client has sent.
 * @throws SyntaxError, also for more than 200 levels
 */
export function parseSentJson(text: string): Json {
  const value = JSON.parse(text) as Json
  if (isDeeper(value, maxJsonDepth)) throw new SyntaxError(`values nested deeper than ${maxJsonDepth} levels`)
  return value
}

/** An object without its fields that are undefined. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}

type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** The same object, in which some keys have other names. */
export function renameKeys<Value>(
  object: { readonly [key: string]: Value },
  names: { readonly [key: string]: string },
): { readonly [key: string]: Value } {
  const nameOf = (key: string): string => (Object.hasOwn(names, key) ? (names[key] ?? key) : key)
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [nameOf(key), value]))
}

/** Text unchanged, any other value as JSON. */
export function plainText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The same value with `change` applied to its texts; parts in which no text changes are not copied. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  const items = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(items)
  const changed = new Map<string, unknown>()
  for (const key of keys) {
    const item = mapTexts(items[key], change)
    if (item !== items[key]) changed.set(key, item)
  }
  // most texts are searched for secrets and contain none
  if (changed.size === 0) return value
  const itemAt = (key: string): unknown => (changed.has(key) ? changed.get(key) : items[key])
  return Array.isArray(value) ? keys.map(itemAt) : Object.fromEntries(keys.map((key) => [key, itemAt(key)]))
}
