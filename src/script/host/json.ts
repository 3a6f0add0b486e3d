import { messageOf } from '../../base/error.ts'
import { JsonSyntaxError } from '../../base/jsonc.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, optionalText } from './arguments.ts'
import { readRelaxedJson, readStrictJson } from './json-read.ts'
import { jsonText } from './json-text.ts'
import type { HostModule, ModuleFunction } from './module.ts'

/** `aip.json` (spec/aipack.md 6.2, vectors 74 and 75). */
export const jsonModule: HostModule = {
  name: 'aip.json',
  functions: {
    /**
     * `aip.json.parse(text?) → any`
     * Reads JSON, also with comments, trailing commas and names without quotes. nil for nil, for an empty text and for
     * `null`; null inside is the `null` value. What cannot be read is an error.
     */
    parse: { effect: 'pure', call: ([content]) => [parse(optionalText(content, 'aip.json.parse'))] },
    /**
     * `aip.json.parse_ndjson(text?) → list?`
     * One value for each line that is not blank. JSON is strict here, and an error names the line. nil for nil.
     */
    parse_ndjson: {
      effect: 'pure',
      call: ([content]) => [parseLines(optionalText(content, 'aip.json.parse_ndjson'))],
    },
    /**
     * `aip.json.stringify(value) → string`
     * The value as JSON on one line, keys sorted; `{}` is an empty list. Functions, NaN and infinities are errors.
     */
    stringify: writer('stringify', 0),
    /**
     * `aip.json.stringify_to_line(value) → string`
     * Another name of `aip.json.stringify`.
     */
    stringify_to_line: writer('stringify_to_line', 0),
    /**
     * `aip.json.stringify_pretty(value) → string`
     * The same on several lines, indented by two blanks.
     */
    stringify_pretty: writer('stringify_pretty', 2),
  },
}

function writer(name: string, indent: number): ModuleFunction {
  const full = `aip.json.${name}`
  return {
    effect: 'pure',
    tables: 'data',
    call: ([value]) => {
      try {
        return [jsonText(value, { indent })]
      } catch (error) {
        throw argumentError(full, messageOf(error))
      }
    },
  }
}

function parse(content: string | undefined): LuaValue {
  if (content === undefined) return undefined
  try {
    return withoutTopNull(readRelaxedJson(content))
  } catch (error) {
    throw argumentError('aip.json.parse failed', messageOf(error))
  }
}

/** Null at the top is nil; inside it is the sentinel (spec/aipack.md 2.2). */
export function withoutTopNull(value: LuaValue): LuaValue {
  return value ?? undefined
}

function parseLines(content: string | undefined): LuaValue {
  return content === undefined ? undefined : parseJsonLines(content, 'aip.json.parse_ndjson failed')
}

/**
 * One strict JSON value for each line that is not blank.
 * @throws BatonError SCRIPT_FAILED that begins with `what` and names the line
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
