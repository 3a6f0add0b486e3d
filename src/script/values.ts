import type { CallRequest } from '../event/effects.ts'
import type { Json } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { LuaValue } from './engine.ts'

/**
 * A Lua value as the JSON that crosses a section boundary: nil inside a list becomes null, integers beyond 2^53 become
 * the nearest double.
 * @throws Error if a string is not UTF-8, naming its position
 */
export function luaToJson(value: LuaValue, where = 'the value'): Json {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new Error(`${where} is ${value}, which cannot leave a section: JSON has no such number`)
  }
  if (value instanceof Uint8Array)
    throw new Error(`${where} is a string that is not UTF-8, which cannot leave a section`)
  if (Array.isArray(value)) return value.map((item: LuaValue, index) => luaToJson(item, `${where}[${index + 1}]`))
  if (!isObject(value)) return value as Json
  return Object.fromEntries(
    Object.entries(value as { readonly [key: string]: LuaValue })
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, luaToJson(item, `${where}.${key}`)]),
  )
}

/** The recorded form of a host call that reads one file, which is its first argument. */
export function readingCall(name: string, args: readonly LuaValue[]): CallRequest {
  const [file] = args
  return { name, args: argumentsToJson(args), ...(typeof file === 'string' && { reads: file }) }
}

/** Arguments of a host call as the JSON they are recorded and compared by. Bytes and big integers keep their value. */
export function argumentsToJson(values: readonly LuaValue[]): Json {
  return values.map(argumentToJson)
}

function argumentToJson(value: LuaValue): Json {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return { $big: String(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(argumentToJson)
  if (!isObject(value)) return value as Json
  return Object.fromEntries(
    Object.entries(value as { readonly [key: string]: LuaValue }).map(([key, item]) => [key, argumentToJson(item)]),
  )
}
