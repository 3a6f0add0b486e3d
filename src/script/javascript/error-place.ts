import type { Source } from './source.ts'

/** The file name under which the engine knows programs. */
export const programName = 'program'

const inProgram = /(?:^|[( ])program:(\d+):(\d+)\)?$/m

export interface ErrorPlace {
  readonly line?: number
  readonly column?: number
}

/**
 * Where in the program an error was thrown, counted from 1. The engine records positions of calls, operators and
 * expression statements only, so its stack names the last of those before the error. The name in the message is
 * searched for from there.
 */
export function placeInProgram(
  { message, stack }: { readonly message: string; readonly stack: string },
  { text, shift }: Pick<Source, 'text' | 'shift'>,
): ErrorPlace {
  const [, line, column] = inProgram.exec(stack)?.map(Number) ?? []
  if (line === undefined || column === undefined) return {}
  const noted = { line, column }
  const found = nameAfter(noted, message, text) ?? noted
  if (shift === undefined) return { line: found.line }
  return { line: found.line, column: found.line === 1 ? Math.max(1, found.column - shift) : found.column }
}

type FullPlace = Required<ErrorPlace>

/** Messages, and how what they name is written in programs; the first match counts. */
const named: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /^(?:value is not iterable|cannot read property 'Symbol.iterator' of (?:undefined|null))$/,
    () => '(?<![\\w$])of(?![\\w$])|\\.\\.\\.|\\]\\s*=',
  ],
  [
    /^(.{1,100}) is not (?:defined|initialized)$/,
    (name) => `(?<![\\w$"'\`]|(?<!\\.\\.)\\.)${name}(?![\\w$]|\\s*:(?!:))`,
  ],
  [
    /^cannot (?:read|set) property '(.{1,100})' of (?:undefined|null)$/,
    (name) => `\\.\\s*${name}(?![\\w$])|\\[\\s*["'\`]?${name}["'\`]?\\s*\\]|${name}(?<=[{,]\\s*${name})(?=\\s*[,:=}])`,
  ],
  [/^Cannot convert undefined or null to object$/, () => '\\}\\s*='],
]

/** Longer programs are not searched. */
const longestSearched = 100_000

function nameAfter({ line, column }: FullPlace, message: string, text: string): FullPlace | undefined {
  if (text.length > longestSearched) return undefined
  for (const [pattern, written] of named) {
    const [whole, name = ''] = pattern.exec(message) ?? []
    if (whole === undefined) continue
    const search = new RegExp(written(name.replace(/[^\w]/g, '\\$&')), 'g')
    search.lastIndex = offsetOf({ line, column }, text)
    const found = search.exec(withoutTexts(text))
    return found === null ? undefined : placeOf(found.index + Math.max(0, found[0].search(/[^.\s]/)), text)
  }
  return undefined
}

/** Unclosed comments and strings match to the end of the line or text, so that nothing is scanned twice. */
const commentOrText = /(["'])(?:(?!\1)[^\\\n]|\\.)*(\1?)|\/\/[^\n]*|\/\*.*?(\*\/|$)/gs

/** The same text with comments blanked out. Short strings stay, for names in brackets. */
function withoutTexts(text: string): string {
  return text.replace(commentOrText, (part, quote?: string, quoteEnd?: string, commentEnd?: string) => {
    const isText = quote !== undefined && (quoteEnd === '' || part.length <= longestName)
    return isText || commentEnd === '' ? part : part.replace(/[^\n]/g, ' ')
  })
}

/** Longer strings are not names. */
const longestName = 40

function offsetOf({ line, column }: FullPlace, text: string): number {
  let start = 0
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf('\n', start)
    if (end === -1) break
    start = end + 1
  }
  return start + column - 1
}

function placeOf(offset: number, text: string): FullPlace {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** The QuickJS message in the wording of its other versions. */
export function shownMessage(message: string): string {
  const [, name] = /^([^\s']+) is not defined$/.exec(message) ?? []
  return name === undefined ? message : `'${name}' is not defined`
}
