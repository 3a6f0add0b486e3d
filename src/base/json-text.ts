/** JSON data in which integers beyond 2^53 are exact. */
export type ExactJson = null | boolean | number | bigint | string | readonly ExactJson[] | ExactTable

export interface ExactTable {
  readonly [key: string]: ExactJson
}

/** Text is not valid JSON. Lines and columns count from 1. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  /** The message without the position. */
  readonly reason: string
  readonly line: number
  readonly column: number

  constructor(reason: string, { line, column }: { readonly line: number; readonly column: number }) {
    super(`${reason} at line ${line}, column ${column}`)
    this.reason = reason
    this.line = line
    this.column = column
  }
}

const maxDepth = 200

/**
 * Parses relaxed JSON (docs/aipack.md "Lua API"): comments, trailing and missing commas, unquoted keys, single quotes,
 * hexadecimal numbers, `+1`, line breaks in strings. Empty text, or text with comments only, is undefined. Integers
 * that a double cannot represent are bigints if they fit into 64 bits.
 * @throws JsonSyntaxError
 */
export function parseJsonc(text: string): ExactJson | undefined {
  const cursor: Cursor = { text, grammar: relaxed, at: text.startsWith('\uFEFF') ? 1 : 0 }
  skipTrivia(cursor)
  return cursor.at === text.length ? undefined : readWhole(cursor)
}

/**
 * Parses strict JSON, also with exact integers.
 * @throws JsonSyntaxError
 */
export function parseStrictJson(text: string): ExactJson {
  try {
    JSON.parse(text)
  } catch (error) {
    // unlike the engine, this parser reports a position
    readWhole({ text, grammar: strict, at: 0 })
    throw new JsonSyntaxError(error instanceof Error ? error.message : String(error), { line: 1, column: 1 })
  }
  return parseJsonc(text) ?? null
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  '/': '/',
}

/** The differences between relaxed and strict JSON. */
interface Grammar {
  readonly trivia: RegExp
  readonly number: RegExp
  readonly text: { readonly [quote: string]: RegExp }
  readonly escapes: Readonly<Record<string, string>>
  readonly needsCommas: boolean
}

const relaxed: Grammar = {
  trivia: /(?:\s+|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y,
  number: /[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y,
  text: { '"': /[^"\\]*/y, "'": /[^'\\]*/y },
  escapes: { ...escapes, "'": "'" },
  needsCommas: false,
}

const strict: Grammar = {
  trivia: /[ \t\n\r]*/y,
  number: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y,
  // oxlint-disable-next-line no-control-regex
  text: { '"': /[^"\\\0-\x1f]*/y },
  escapes,
  needsCommas: true,
}

interface Cursor {
  readonly text: string
  readonly grammar: Grammar
  at: number
}

function readWhole(cursor: Cursor): ExactJson {
  skipTrivia(cursor)
  const value = readValue(cursor, 0)
  skipTrivia(cursor)
  if (cursor.at < cursor.text.length) throw unexpected(cursor, 'the end of the text')
  return value
}

function readValue(cursor: Cursor, depth: number): ExactJson {
  if (depth > maxDepth) throw failure(cursor, `values nested deeper than ${maxDepth} levels`)
  const character = cursor.text[cursor.at]
  if (character === '{') return readObject(cursor, depth)
  if (character === '[') return readList(cursor, depth)
  if (isQuote(character, cursor)) return readString(cursor, character)
  const start = cursor.at
  const number = readNumber(cursor)
  if (number !== undefined) return number
  const word = readWord(cursor)
  if (word === 'true' || word === 'false') return word === 'true'
  if (word === 'null') return null
  cursor.at = start
  throw unexpected(cursor, 'a value')
}

function readObject(cursor: Cursor, depth: number): ExactJson {
  const entries: [string, ExactJson][] = []
  for (const _ of items(cursor, '}')) {
    const key = readKey(cursor)
    skipTrivia(cursor)
    if (cursor.text[cursor.at] !== ':') throw unexpected(cursor, 'a colon')
    cursor.at += 1
    skipTrivia(cursor)
    entries.push([key, readValue(cursor, depth + 1)])
  }
  return Object.fromEntries(entries)
}

function readList(cursor: Cursor, depth: number): ExactJson {
  const list: ExactJson[] = []
  for (const _ of items(cursor, ']')) list.push(readValue(cursor, depth + 1))
  return list
}

function isQuote(character: string | undefined, { grammar }: Cursor): character is string {
  return character !== undefined && Object.hasOwn(grammar.text, character)
}

/** Yields before each item until the closing bracket has been read. One comma may follow an item. */
function* items(cursor: Cursor, close: string): Generator<void> {
  const open = cursor.at
  cursor.at += 1
  skipTrivia(cursor)
  while (cursor.text[cursor.at] !== close) {
    if (cursor.at >= cursor.text.length) throw failure({ ...cursor, at: open }, `no matching ${close}`)
    yield
    skipTrivia(cursor)
    if (cursor.text[cursor.at] === ',') {
      cursor.at += 1
      skipTrivia(cursor)
      if (cursor.grammar.needsCommas && cursor.text[cursor.at] === close)
        throw unexpected(cursor, 'another item after the comma')
    } else if (cursor.grammar.needsCommas && cursor.at < cursor.text.length && cursor.text[cursor.at] !== close) {
      throw unexpected(cursor, `a comma or ${close}`)
    }
  }
  cursor.at += 1
}

function readKey(cursor: Cursor): string {
  const quote = cursor.text[cursor.at]
  if (isQuote(quote, cursor)) return readString(cursor, quote)
  const word = cursor.grammar.needsCommas ? '' : readWord(cursor)
  if (word === '') throw unexpected(cursor, 'a key')
  return word
}

function readWord(cursor: Cursor): string {
  return takeMatch(cursor, /[\p{L}\p{N}_$-]+/uy)
}

function readString(cursor: Cursor, quote: string): string {
  const open = cursor.at
  const plain = cursor.grammar.text[quote] ?? /^$/y
  let result = ''
  cursor.at += 1
  for (;;) {
    result += takeMatch(cursor, plain)
    const character = cursor.text[cursor.at]
    if (character === quote) break
    if (character !== undefined && character < ' ' && !'\r\n'.includes(character)) {
      throw failure(cursor, 'a control character in a string')
    }
    if (character !== '\\') throw failure({ ...cursor, at: open }, 'an unterminated string')
    const unicode = takeMatch(cursor, /\\u[0-9a-fA-F]{4}/y)
    if (unicode !== '') {
      result += String.fromCharCode(Number.parseInt(unicode.slice(2), 16))
      continue
    }
    const escaped = cursor.grammar.escapes[cursor.text[cursor.at + 1] ?? '']
    if (escaped === undefined) throw failure(cursor, 'an unknown escape in a string')
    result += escaped
    cursor.at += 2
  }
  cursor.at += 1
  return result
}

function readNumber(cursor: Cursor): number | bigint | undefined {
  const start = cursor.at
  const text = takeMatch(cursor, cursor.grammar.number)
  if (text === '') return undefined
  // not part of the number pattern, which would take a millisecond to compile at every start
  if (takeMatch(cursor, /[\p{L}\p{N}_$.]/uy) !== '') {
    cursor.at = start
    return undefined
  }
  const digits = text.replace(/^[+-]/, '')
  const value = Number(digits) * (text.startsWith('-') ? -1 : 1)
  if (!Number.isFinite(value)) throw failure({ ...cursor, at: start }, 'a number out of range')
  if (Number.isSafeInteger(value) || !/^(?:0[xX][0-9a-fA-F]+|\d+)$/.test(digits)) return value
  const exact = BigInt(digits) * (text.startsWith('-') ? -1n : 1n)
  return BigInt.asIntN(64, exact) === exact ? exact : value
}

function skipTrivia(cursor: Cursor): void {
  takeMatch(cursor, cursor.grammar.trivia)
}

function takeMatch(cursor: Cursor, pattern: RegExp): string {
  pattern.lastIndex = cursor.at
  const text = pattern.exec(cursor.text)?.[0] ?? ''
  cursor.at += text.length
  return text
}

function unexpected(cursor: Cursor, wanted: string): JsonSyntaxError {
  const found =
    cursor.at < cursor.text.length ? JSON.stringify(cursor.text.slice(cursor.at, cursor.at + 12)) : 'the end'
  return failure(cursor, `expected ${wanted} but found ${found}`)
}

function failure({ text, at }: Cursor, reason: string): JsonSyntaxError {
  const before = text.slice(0, at)
  return new JsonSyntaxError(reason, { line: before.split('\n').length, column: at - before.lastIndexOf('\n') })
}

/**
 * Formats valid JSON with one value per line, indented by two spaces. Strings and numbers are left as written, because
 * parsing and writing them would change integers beyond 2^53.
 */
export function indentJson(text: string): string {
  let indented = ''
  let depth = 0
  let last = ''
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\[^][^"\\]*)*"?|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const isClosing = token === '}' || token === ']'
    if (isClosing) depth -= 1
    const isFirst = last === '{' || last === '['
    // an empty list or object stays on one line
    if (isClosing ? !isFirst : isFirst || last === ',') indented += `\n${'  '.repeat(depth)}`
    if (token === '{' || token === '[') depth += 1
    indented += token === ':' ? ': ' : token
    last = token
  }
  return indented
}

/** The offset after the string that opens at `start`; the end of the text if it is not closed. */
export function jsonStringEnd(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return Math.min(index + 1, text.length)
}
