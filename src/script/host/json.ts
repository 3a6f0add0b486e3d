import { messageOf } from '../../base/error.ts'
import { type ExactJson, JsonSyntaxError, parseJsonc, parseStrictJson } from '../../base/json-text.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, type LuaTable, luaTypeName } from './call.ts'
import { type HostModule, type ModuleFunction, pure } from './module.ts'
import { compareBytes } from '../../base/byte-order.ts'
import type { Json } from '../../base/json.ts'

/** `aip.json`. */
export const jsonModule: HostModule = {
  name: 'aip.json',
  functions: {
    /**
     * `aip.json.parse(text?) → any` Parses JSON, including comments, trailing commas and unquoted keys. nil for nil,
     * for an empty string and for `null`; nested nulls become the `null` value. Invalid JSON is an error.
     */
    parse: pure((call) => {
      const content = call.optionalTextOrNumber(0)
      if (content === undefined) return undefined
      try {
        return withoutTopNull(readRelaxedJson(content))
      } catch (error) {
        throw argumentError(`${call.name} failed`, messageOf(error))
      }
    }),
    /**
     * `aip.json.parse_ndjson(text?) → list?`
     * One value for each line that is not blank. The JSON must be strict; an error names the line. nil for nil.
     */
    parse_ndjson: pure((call) => {
      const content = call.optionalTextOrNumber(0)
      return content === undefined ? undefined : parseJsonLines(content, `${call.name} failed`)
    }),
    /**
     * `aip.json.stringify(value) → string`
     * The value as JSON on one line, keys sorted; `{}` is an empty list. Functions, NaN and infinities are errors.
     */
    stringify: writer(0),
    /** `aip.json.stringify_to_line(value) → string` Alias of `aip.json.stringify`. */
    stringify_to_line: writer(0),
    /** `aip.json.stringify_pretty(value) → string` The same on several lines, indented by two spaces. */
    stringify_pretty: writer(2),
  },
}

function writer(indent: number): ModuleFunction {
  return pure((call) => call.attempt(() => jsonText(call.args[0], { indent })), { tables: 'data' })
}

/** Null at the top level becomes nil; nested nulls become the sentinel. */
export function withoutTopNull(value: LuaValue): LuaValue {
  return value ?? undefined
}

/**
 * One strict JSON value for each line that is not blank.
 * @throws BatonError SCRIPT_FAILED that starts with `what` and names the line
 */
export function parseJsonLines(content: string, what: string): readonly LuaValue[] {
  return content.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    try {
      return [readStrictJson(line)]
    } catch (error) {
      const reason = error instanceof JsonSyntaxError ? `${error.reason} (column ${error.column})` : messageOf(error)
      throw argumentError(what, `line ${index + 1} is not JSON: ${reason}`)
    }
  })
}

/**
 * Same result and errors as `parseJsonc`. Nearly all text is strict JSON, which `JSON.parse` reads many times faster.
 * @throws JsonSyntaxError
 */
export function readRelaxedJson(text: string): LuaValue {
  return readExact(text) ?? parseJsonc(text)
}

/** Same result and errors as `parseStrictJson`. @throws JsonSyntaxError */
export function readStrictJson(text: string): LuaValue {
  return readExact(text) ?? parseStrictJson(text)
}

/** Undefined or null if the slow parser has to read the text. */
function readExact(text: string): ExactJson | undefined {
  try {
    const value = JSON.parse(text) as ExactJson
    return isExact(value, 0) ? value : undefined
  } catch {
    return undefined
  }
}

const deepest = 200

/**
 * False if a number may have lost digits or is out of range, or if the value is nested deeper than the slow parser
 * allows.
 */
function isExact(value: ExactJson, depth: number): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) ? Number.isFinite(value) : Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth >= deepest) return false
  if (Array.isArray(value)) return value.every((item: ExactJson) => isExact(item, depth + 1))
  return Object.values(value).every((item: ExactJson) => isExact(item, depth + 1))
}

/**
 * JSON text of a Lua value read as `data`: keys in byte order, nil and null as null, big integers with all digits.
 * `indent` is the number of spaces per level, up to 10; if omitted, the text is one line.
 * @throws Error for NaN, infinity and text that is not UTF-8, naming the place
 */
export function jsonText(value: LuaValue, { indent = 0 }: { readonly indent?: number } = {}): string {
  if (isOrderable(value)) return JSON.stringify(ordered(value), undefined, indent)
  return write(value, { indent, level: 0, where: 'the value' })
}

interface Writing {
  readonly indent: number
  readonly level: number
  readonly where: string
}

function write(value: LuaValue, writing: Writing): string {
  if (value === undefined || value === null) return 'null'
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return JSON.stringify(value)
    throw new Error(`${writing.where} is ${value}, and JSON has no such number`)
  }
  if (!isTable(value)) throw new Error(`${writing.where} is a ${luaTypeName(value)} that is not UTF-8 text`)
  if (Array.isArray(value)) {
    const items = value.map((item: LuaValue, index) => write(item, inner(writing, `[${index + 1}]`)))
    return enclose(items, '[]', writing)
  }
  const table = value as LuaTable
  const entries = Object.keys(table)
    .filter((key) => table[key] !== undefined)
    .toSorted(compareBytes)
    .map(
      (key) => `${JSON.stringify(key)}:${writing.indent > 0 ? ' ' : ''}${write(table[key], inner(writing, `.${key}`))}`,
    )
  return enclose(entries, '{}', writing)
}

function inner({ indent, level, where }: Writing, step: string): Writing {
  return { indent, level: level + 1, where: where + step }
}

function enclose(items: readonly string[], marks: string, { indent, level }: Writing): string {
  if (items.length === 0) return marks
  if (indent === 0) return marks.charAt(0) + items.join(',') + marks.charAt(1)
  const inside = `\n${' '.repeat(indent * (level + 1))}`
  return `${marks.charAt(0)}${inside}${items.join(`,${inside}`)}\n${' '.repeat(indent * level)}${marks.charAt(1)}`
}

/**
 * Whether `JSON.stringify` writes the `ordered` value correctly; it is many times faster than writing piece by piece,
 * but has no big integers, writes NaN as null, and puts numeric keys first.
 */
export function isOrderable(value: LuaValue): boolean {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value)
    case 'object':
      if (value === null) return true
      if (Array.isArray(value)) return value.every(isOrderable)
      return (
        isTable(value) && Object.entries(value as LuaTable).every(([key, item]) => keepsPlace(key) && isOrderable(item))
      )
    default:
      return typeof value !== 'bigint'
  }
}

function keepsPlace(key: string): boolean {
  const first = key.charCodeAt(0)
  const isDigit = first >= 48 && first <= 57
  return !isDigit && key !== '__proto__'
}

/** The value with the keys of its tables in byte order, nil as null, and without keys whose value is nil. */
export function ordered(value: LuaValue): Json {
  if (value === undefined) return null
  if (Array.isArray(value)) return value.map(ordered)
  if (!isTable(value)) return value as Json
  const table = value as LuaTable
  const copy: { [key: string]: Json } = {}
  for (const key of Object.keys(table).toSorted(compareBytes)) {
    const item = table[key]
    if (item !== undefined) copy[key] = ordered(item)
  }
  return copy
}
