import {
  dataError,
  type DataPath,
  type DataSource,
  type DataText,
  maxDataDepth,
  type TextPosition,
} from './data-text.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { JsonSyntaxError, parseStrictJson } from './json-text.ts'

/**
 * Parses a JSON file whose top level is an object. Refuses more than 100 levels.
 * @throws BatonError with the source's code, and line and column
 */
export function parseJsonData(source: DataSource): DataText {
  const { block, firstLine } = source
  const data = parsed(source)
  if (!isObject(data)) {
    throw dataError(
      source,
      { reason: 'must be an object', hint: 'Write { "KEY": value, … }.' },
      { line: firstLine, column: 1 },
    )
  }
  let positions: Positions | undefined
  return {
    data: data as JsonObject,
    async locate(path, part = 'key') {
      positions ??= positionsIn(block)
      for (let length = path.length; length > 0; length -= 1) {
        const entry = positions.get(JSON.stringify(path.slice(0, length)))
        if (entry !== undefined) return entry[length === path.length ? part : 'key']
      }
      return undefined
    },
  }
}

function parsed(source: DataSource): Json {
  try {
    parseStrictJson(source.block)
    // integers that a double cannot represent are rounded, as in every JSON reader
    const data = JSON.parse(source.block) as Json
    if (depthOf(data) > maxDataDepth)
      throw new JsonSyntaxError(`values nested deeper than ${maxDataDepth} levels`, { line: 1, column: 1 })
    return data
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const { reason, line, column } = error
    const hint =
      'Write plain JSON: double quotes around keys and text, commas between values but not after the last, no comments.'
    throw dataError(source, { reason: `is not valid JSON: ${reason}`, hint }, { line, column })
  }
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce((deepest: number, inner: Json) => Math.max(deepest, depthOf(inner)), 0)
}

interface KeyAndValue {
  readonly key: TextPosition
  readonly value: TextPosition
}

/** Keyed by the path as JSON. */
type Positions = Map<string, KeyAndValue>

interface OpenPart {
  readonly kind: 'object' | 'list'
  index: number
  key?: { readonly name: string; readonly at: TextPosition }
  isKeyNext: boolean
}

/** The positions of all keys and values of valid JSON. The position of an object or list is where it opens. */
function positionsIn(text: string): Positions {
  const found: Positions = new Map()
  const open: OpenPart[] = []
  const starts = lineStarts(text)
  const path = (): DataPath => open.map(({ kind, index, key }) => (kind === 'list' ? index : (key?.name ?? '')))
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const part = open.at(-1)
    const at = rangeOf(index, token.length, starts)
    if (token === '}' || token === ']') open.pop()
    else if (token === ',' && part !== undefined) {
      part.index += 1
      part.isKeyNext = part.kind === 'object'
    } else if (token === ':' || token === ',') continue
    else if (part?.isKeyNext === true) {
      part.key = { name: JSON.parse(token) as string, at }
      part.isKeyNext = false
    } else {
      if (part !== undefined) found.set(JSON.stringify(path()), { key: part.key?.at ?? at, value: at })
      if (token === '{') open.push({ kind: 'object', index: 0, isKeyNext: true })
      if (token === '[') open.push({ kind: 'list', index: 0, isKeyNext: false })
    }
  }
  return found
}

function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
}

/** No token spans lines. */
function rangeOf(offset: number, length: number, starts: readonly number[]): TextPosition {
  const after = starts.findIndex((start) => start > offset)
  const line = after === -1 ? starts.length : after
  const column = offset - (starts[line - 1] ?? 0) + 1
  return { line, column, endLine: line, endColumn: column + length }
}
