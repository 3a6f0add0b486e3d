import { messageOf } from '../../base/error.ts'
import { type ExactJson, JsonSyntaxError, parseJsonc, parseStrictJson } from '../../base/json-text.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError } from './arguments.ts'
import { jsonText } from './json-text.ts'
import { type HostModule, type ModuleFunction, pure } from './module.ts'

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
