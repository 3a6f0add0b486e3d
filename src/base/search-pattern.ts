import { BatonError } from './error.ts'
import { type ClassItem, type CharacterClass, parsePattern, type PatternNode } from './search-syntax.ts'

/**
 * A regular expression that is matched against each line of a text, for two engines. Both accept the same language, so
 * that they find the same lines: syntax that only one of them supports is refused.
 */
export interface SearchPattern {
  /** For ripgrep. */
  readonly rust: string
  /**
   * Source of a RegExp with the flags `g` and, if needed, `i`, for text that is all ASCII; undefined: no such pattern
   * exists.
   */
  readonly ascii: string | undefined
  /** The same with the additional flag `v`, for any text. */
  readonly unicode: string
  readonly ignoresCase: boolean
}

/** @throws BatonError USAGE, which says what is wrong and where */
export function compileSearch(text: string, { ignoreCase }: { readonly ignoreCase: boolean }): SearchPattern {
  const { node, ignoresCase: isMarked } = parsePattern(text)
  const ignoresCase = ignoreCase || isMarked
  const rust = write(node, rustWriter)
  if (rust.length > mostWritten) {
    throw new BatonError('USAGE', 'the regular expression is too large', { hint: 'Search for less at a time.' })
  }
  // letters beyond ASCII may be other cases of ASCII letters
  const isAscii = /^\p{ASCII}*$/u.test(text) && !/\\[xu]/.test(text)
  const ascii = isAscii || !ignoresCase ? write(node, asciiWriter(ignoresCase)) : undefined
  return { rust, ascii, unicode: write(node, unicodeWriter), ignoresCase }
}

const mostWritten = 100_000

/** How the leaves of a pattern are written. */
interface Writer {
  readonly literal: (code: number) => string
  readonly class: (one: CharacterClass) => string
  readonly any: string
  readonly lineStart: string
  readonly lineEnd: string
  readonly wordEdge: string
  readonly noWordEdge: string
}

function write(node: PatternNode, writer: Writer): string {
  switch (node.kind) {
    case 'literal':
      return writer.literal(node.code)
    case 'class':
      return writer.class(node.class)
    case 'any':
    case 'lineStart':
    case 'lineEnd':
    case 'wordEdge':
    case 'noWordEdge':
      return writer[node.kind]
    case 'sequence':
      return node.items.map((item) => write(item, writer)).join('')
    case 'choice':
      return `(?:${node.items.map((item) => write(item, writer)).join('|')})`
    case 'repeat': {
      const { item, least, most } = node
      return `(?:${write(item, writer)}){${least},${most ?? ''}}`
    }
  }
}

const rustWriter: Writer = {
  literal: (code) => `\\x{${code.toString(16)}}`,
  class: ({ isNegated, items }) => `[${isNegated ? '^' : ''}${items.map(rustItem).join('')}]`,
  any: '.',
  lineStart: '^',
  // a line may end in CR LF
  lineEnd: String.raw`(?:\r?$)`,
  wordEdge: String.raw`\b`,
  noWordEdge: String.raw`\B`,
}

function rustItem(item: ClassItem): string {
  switch (item.kind) {
    case 'range':
      return `\\x{${item.from.toString(16)}}-\\x{${item.to.toString(16)}}`
    case 'set':
      return `\\${item.isNegated ? item.name.toUpperCase() : item.name}`
    case 'property':
      return `\\${item.isNegated ? 'P' : 'p'}{${item.name}}`
  }
}

const sets = {
  d: String.raw`\p{Nd}`,
  s: String.raw`\p{White_Space}`,
  w: String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`,
} as const

/** For finding matches: text that does not occur does not occur inside a surrogate pair either. */
const lineStart = String.raw`(?<=\n|^)`
const lineEnd = String.raw`(?:\r?(?=\n|$))`

const unicodeWriter: Writer = {
  literal: (code) => `\\u{${code.toString(16)}}`,
  // a line feed belongs to no line
  class: ({ isNegated, items }) => `[[${isNegated ? '^' : ''}${items.map(unicodeItem).join('')}]--\\n]`,
  any: String.raw`[^\n]`,
  lineStart,
  lineEnd,
  wordEdge: `(?:(?<=[${sets.w}])(?![${sets.w}])|(?<![${sets.w}])(?=[${sets.w}]))`,
  noWordEdge: `(?:(?<=[${sets.w}])(?=[${sets.w}])|(?<![${sets.w}])(?![${sets.w}]))`,
}

function unicodeItem(item: ClassItem): string {
  switch (item.kind) {
    case 'range':
      return `\\u{${item.from.toString(16)}}-\\u{${item.to.toString(16)}}`
    case 'set':
      return `[${item.isNegated ? '^' : ''}${sets[item.name]}]`
    case 'property':
      return `\\${item.isNegated ? 'P' : 'p'}{${item.name}}`
  }
}

/** For ASCII text: classes list their characters, so that the engine has nothing to look up. */
function asciiWriter(ignoresCase: boolean): Writer {
  return {
    literal: (code) => (code < 128 ? `\\x${hex2(code)}` : '(?!)'),
    class: (one) => asciiClass(one, ignoresCase),
    any: String.raw`[^\n]`,
    lineStart,
    lineEnd,
    wordEdge: String.raw`\b`,
    noWordEdge: String.raw`\B`,
  }
}

const asciiCodes = Array.from({ length: 128 }, (_, code) => code)

function asciiClass({ isNegated, items }: CharacterClass, ignoresCase: boolean): string {
  const tests = items.map(asciiTest)
  const holds = (code: number): boolean => tests.some((test) => test(code))
  const isIn = ignoresCase ? (code: number): boolean => holds(code) || holds(otherCase(code)) : holds
  const codes = asciiCodes.filter((code) => code !== 10 && isIn(code) !== isNegated)
  return codes.length === 0 ? '(?!)' : `[${codes.map((code) => `\\x${hex2(code)}`).join('')}]`
}

function asciiTest(item: ClassItem): (code: number) => boolean {
  if (item.kind === 'range') return (code) => code >= item.from && code <= item.to
  const pattern = new RegExp(`^[${unicodeItem(item)}]$`, 'v')
  return (code) => pattern.test(String.fromCharCode(code))
}

function otherCase(code: number): number {
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
  return isLetter ? code ^ 32 : code
}

function hex2(code: number): string {
  return code.toString(16).padStart(2, '0')
}
