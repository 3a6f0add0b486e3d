import type { TomlDate, TomlError } from 'smol-toml'
import type { AST } from 'toml-eslint-parser'
import {
  dataError,
  type DataPath,
  type DataSource,
  type DataText,
  maxDataDepth,
  paddedBlock,
  pathText,
  type TextPosition,
} from './data-text.ts'
import { isDeeper, type JsonObject } from './json.ts'
import type { ExactJson, ExactTable } from './json-text.ts'
import { nearest } from './suggest.ts'

/**
 * Parses TOML 1.1 as JSON data. Dates become text as written. Refuses values that JSON or our own code could not
 * represent safely: nan, infinity, integers beyond 2^53, the key `__proto__`, more than 100 levels.
 * @throws BatonError with the source's code, and line and column in the whole file
 */
export async function parseToml(source: DataSource): Promise<DataText> {
  const locate = locator(source)
  // smol-toml has refused integers that a double cannot represent
  return { data: (await readTables(source, { readers: 'settings', locate })) as JsonObject, locate }
}

/**
 * Like `parseToml`, but with 64-bit integers, of which those beyond 2^53 are bigints, and with the key `__proto__`. For
 * scripts, which can represent them.
 * @throws BatonError as `parseToml` does
 */
export function parseExactToml(source: DataSource): Promise<ExactTable> {
  return readTables(source, { readers: 'scripts', locate: locator(source) })
}

async function readTables(
  source: DataSource,
  { readers, locate }: Pick<Reading, 'readers'> & { readonly locate: DataText['locate'] },
): Promise<ExactTable> {
  const { parse } = await import('smol-toml')
  let tables: Readonly<Record<string, unknown>>
  try {
    tables = parse(paddedBlock(source), { integersAsBigInt: readers === 'scripts' ? 'asNeeded' : false })
  } catch (error) {
    throw syntaxError(error, source)
  }
  // what walks through them would overflow the stack
  if (isDeeper(tables, 10 * maxDataDepth)) {
    const reason = `is nested deeper than ${maxDataDepth} levels`
    throw dataError(source, { reason, hint: 'Flatten it.' }, { line: source.firstLine, column: 1 })
  }
  try {
    return plainTable(tables, [], { readers, dates: holdsDate(tables) ? await writtenValues(source) : undefined })
  } catch (error) {
    if (!(error instanceof UnsuitableValue)) throw error
    const position = (await locate(error.path)) ?? { line: source.firstLine, column: 1 }
    throw dataError(source, { reason: error.message, hint: error.hint }, position)
  }
}

/** Data as TOML, keys in their order, tables last. Must contain no null; bigints keep all their digits. */
export async function stringifyToml(data: object): Promise<string> {
  const { stringify } = await import('smol-toml')
  return stringify(data)
}

function syntaxError(error: unknown, source: DataSource): unknown {
  if (!isTomlError(error)) return error
  const reason = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
  const position = { line: Math.max(error.line, source.firstLine), column: error.column }
  const line = paddedBlock(source).split('\n')[position.line - 1] ?? ''
  const hint = hintFor(reason, line, position.column)
  return dataError(source, { reason: `is not valid TOML: ${reason}`, hint }, position)
}

function isTomlError(error: unknown): error is TomlError {
  return error instanceof Error && 'line' in error && 'column' in error
}

const numberHint = 'Write a number like 10, 0.5 or 1e6: with a digit on each side of the point and no leading zero.'

const hints: readonly (readonly [RegExp, string])[] = [
  [/redefin/, 'Define each key and each table only once.'],
  [/losslessly/, 'Put numbers beyond 9007199254740991 in quotes.'],
  [/escape/, "Put text with backslashes in single quotes: 'C:\\path'."],
  [/string/, 'Close text on the line it starts on, or put it between """ and """.'],
  [/leading zero|numeric|number/, numberHint],
  [/date|time/, 'Write a date as 2026-11-22 or 2026-11-22T10:30:00Z, or put it in quotes.'],
  [/table|array|structure/, 'Close every [ with ] and every { with }, with commas between the values.'],
]

function hintFor(reason: string, line: string, column: number): string {
  if (reason.includes('invalid value')) return valueHint(line, column)
  return hints.find(([pattern]) => pattern.test(reason))?.[1] ?? 'Write one key = value on each line.'
}

/** Hint for an invalid value, by the text found there. */
function valueHint(line: string, column: number): string {
  const word = /^[^\s,\]}#]*/.exec(line.slice(column - 1))?.[0] ?? ''
  if (word === '') return 'Write a value after the =, or remove the key.'
  if (/^[-+]?\.?\d/.test(word)) return numberHint
  if (/^(?:nil|null|none|undefined)$/i.test(word)) return 'TOML has no such value: remove the key.'
  if (nearest(word, ['true', 'false', 'yes', 'no', 'on', 'off']) !== undefined) return 'Write true or false.'
  // as word processors write them
  const plain = word.replaceAll(/^[“”„‟«»‘’‚]+|[“”„‟«»‘’‚]+$/gu, '')
  const key = /^\s*([\w.-]+\s*=\s*)/.exec(line)?.[1]
  const isWhole = key !== undefined && line.slice(0, column - 1).trim() === key.trim()
  return `Put text in quotes: ${isWhole ? key : ''}${JSON.stringify(plain)}.`
}

class UnsuitableValue extends Error {
  readonly path: DataPath
  readonly hint: string

  constructor(path: DataPath, message: string, hint: string) {
    super(message)
    this.path = path
    this.hint = hint
  }
}

interface Reading {
  readonly readers: 'settings' | 'scripts'
  /** The source text of a value, if there are dates: the parser keeps only milliseconds. */
  readonly dates: ((path: DataPath) => string | undefined) | undefined
}

function holdsDate(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof Date || Object.values(value).some(holdsDate)
}

async function writtenValues(source: DataSource): Promise<(path: DataPath) => string | undefined> {
  const text = paddedBlock(source)
  const positions = await readPositions(text)
  const lines = text.split('\n')
  return (path) => {
    const at = positions.get(JSON.stringify(path))?.value
    return at && lines[at.line - 1]?.slice(at.column - 1, (at.endColumn ?? at.column) - 1)
  }
}

function plainTable(table: Readonly<Record<string, unknown>>, path: DataPath, reading: Reading): ExactTable {
  return Object.fromEntries(Object.keys(table).map((key) => [key, plainValue(table[key], [...path, key], reading)]))
}

function plainValue(value: unknown, path: DataPath, reading: Reading): ExactJson {
  if (path.at(-1) === '__proto__' && reading.readers === 'settings') {
    throw new UnsuitableValue(path, 'has a key "__proto__", which cannot be used', 'Choose another name.')
  }
  if (path.length > maxDataDepth) {
    const shown = path.slice(0, 4)
    throw new UnsuitableValue(shown, `nests ${pathText(shown)} deeper than ${maxDataDepth} levels`, 'Flatten it.')
  }
  if (Array.isArray(value)) return value.map((item, index) => plainValue(item, [...path, index], reading))
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new UnsuitableValue(
      path,
      `sets ${pathText(path)} to a value that is not a number (nan or inf)`,
      'Use a number.',
    )
  }
  if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) === value) return value
    throw new UnsuitableValue(path, `sets ${pathText(path)} to an integer beyond 64 bits`, 'Put it in quotes.')
  }
  if (value instanceof Date) return reading.dates?.(path) ?? (value as TomlDate).toISOString()
  return plainTable(value as Readonly<Record<string, unknown>>, path, reading)
}

function locator(source: DataSource): DataText['locate'] {
  let positions: Promise<Positions> | undefined
  return async (path, part = 'key') => {
    positions ??= readPositions(paddedBlock(source))
    const known = await positions
    for (let length = path.length; length > 0; length -= 1) {
      const entry = known.get(JSON.stringify(path.slice(0, length)))
      if (entry !== undefined) return entry[length === path.length ? part : 'key']
    }
    return undefined
  }
}

interface KeyAndValue {
  readonly key: TextPosition
  readonly value: TextPosition
}

/** Keyed by the path as JSON. */
type Positions = Map<string, KeyAndValue>

/**
 * The positions of all keys, values and list items, by a parser that keeps them, which smol-toml does not; empty if
 * this parser does not accept the text. Heavy: only for an error or an origin that is shown.
 */
async function readPositions(text: string): Promise<Positions> {
  const { parseTOML } = await import('toml-eslint-parser')
  const positions: Positions = new Map()
  try {
    for (const node of parseTOML(text, { tomlVersion: '1.1' }).body[0].body) addEntry(node, [], positions)
  } catch {
    // smol-toml has accepted the text: a missing position is better than a second verdict
  }
  return positions
}

type Entry = AST.TOMLTable | AST.TOMLKeyValue

function addEntry(node: Entry, prefix: DataPath, positions: Positions): void {
  const path = addKeys(node, prefix, positions)
  if (node.type === 'TOMLKeyValue') addInside(node.value, path, positions)
  else for (const inner of node.body) addEntry(inner, path, positions)
}

/** Adds each step of a dotted key. A list index of `[[tables]]` has the position of the key before it. */
function addKeys(node: Entry, prefix: DataPath, positions: Positions): DataPath {
  const { keys } = node.key
  const isTable = node.type === 'TOMLTable'
  const steps = isTable ? node.resolvedKey : keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))
  let path = prefix
  let next = 0
  // deeper data is refused anyway
  for (const [index, step] of steps.slice(0, maxDataDepth).entries()) {
    path = [...path, step]
    const key = keys[typeof step === 'string' ? next++ : next - 1]
    if (key === undefined) continue
    const hasValue = !isTable && index === steps.length - 1
    add(path, { key: rangeOf(key), value: rangeOf(hasValue ? node.value : key) }, positions)
  }
  return path
}

function addInside(node: AST.TOMLContentNode, path: DataPath, positions: Positions): void {
  if (path.length >= maxDataDepth) return
  if (node.type === 'TOMLInlineTable') for (const inner of node.body) addEntry(inner, path, positions)
  if (node.type !== 'TOMLArray') return
  for (const [index, element] of node.elements.entries()) {
    const inner = [...path, index]
    add(inner, { key: rangeOf(element), value: rangeOf(element) }, positions)
    addInside(element, inner, positions)
  }
}

function add(path: DataPath, place: KeyAndValue, positions: Positions): void {
  const key = JSON.stringify(path)
  if (!positions.has(key)) positions.set(key, place)
}

function rangeOf({ loc: { start, end } }: AST.TOMLNode): TextPosition {
  return { line: start.line, column: start.column + 1, endLine: end.line, endColumn: end.column + 1 }
}

/**
 * A whole TOML file, with or without a byte order mark; `file` is its name in messages.
 * @throws BatonError CONFIG_INVALID with its place
 */
export async function readTomlFile(
  file: string,
  written: string,
): Promise<DataText & { readonly file: string; readonly text: string }> {
  const text = written.replace(/^\uFEFF/, '')
  const read = await parseToml({ file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' })
  return { file, text, ...read }
}
