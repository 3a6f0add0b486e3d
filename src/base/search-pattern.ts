import { BatonError } from './error.ts'

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

/** A parsed regular expression. */
type PatternNode =
  | { readonly kind: 'literal'; readonly code: number }
  | { readonly kind: 'class'; readonly class: CharacterClass }
  | { readonly kind: 'any' | 'lineStart' | 'lineEnd' | 'wordEdge' | 'noWordEdge' }
  | { readonly kind: 'sequence' | 'choice'; readonly items: readonly PatternNode[] }
  /** `most` omitted: no limit. */
  | { readonly kind: 'repeat'; readonly item: PatternNode; readonly least: number; readonly most?: number }

interface CharacterClass {
  readonly isNegated: boolean
  readonly items: readonly ClassItem[]
}

type ClassItem =
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'set'; readonly name: 'd' | 's' | 'w'; readonly isNegated: boolean }
  /** A general category of Unicode. */
  | { readonly kind: 'property'; readonly name: string; readonly isNegated: boolean }

const mostCharacters = 2_000
const mostRepeats = 1_000
const deepest = 100

const categories = /^(?:L[ultmo]?|LC|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfonsu]?)$/

const posix: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  alnum: [
    [48, 57],
    [65, 90],
    [97, 122],
  ],
  alpha: [
    [65, 90],
    [97, 122],
  ],
  blank: [
    [9, 9],
    [32, 32],
  ],
  digit: [[48, 57]],
  lower: [[97, 122]],
  punct: [
    [33, 47],
    [58, 64],
    [91, 96],
    [123, 126],
  ],
  space: [
    [9, 13],
    [32, 32],
  ],
  upper: [[65, 90]],
  word: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  xdigit: [
    [48, 57],
    [65, 70],
    [97, 102],
  ],
}

const controls: Readonly<Record<string, number>> = { t: 9, v: 11, f: 12, r: 13, a: 7 }

interface Pattern {
  readonly node: PatternNode
  /** It starts with `(?i)`. */
  readonly ignoresCase: boolean
}

/**
 * Parses a regular expression in the syntax that ripgrep and RE2 have in common: no backreferences and no lookaround. A
 * `{` that does not start a repetition count is an ordinary character.
 * @throws BatonError USAGE, with the position of what is wrong
 */
function parsePattern(text: string): Pattern {
  if (text.length > mostCharacters) {
    throw new BatonError('USAGE', `the regular expression has more than ${mostCharacters} characters`)
  }
  const ignoresCase = text.startsWith('(?i)')
  const characters = Array.from(text)
  let at = ignoresCase ? 4 : 0

  function wrong(problem: string, position = at): BatonError {
    return new BatonError('USAGE', `the regular expression is not valid: ${problem} (character ${position + 1})`)
  }

  const rest = (length: number): string => characters.slice(at, at + length).join('')

  function choice(depth: number): PatternNode {
    if (depth > deepest) throw wrong(`groups are nested more than ${deepest} deep`)
    const items = [sequence(depth)]
    while (characters[at] === '|') {
      at += 1
      items.push(sequence(depth))
    }
    return oneOrAll('choice', items)
  }

  function sequence(depth: number): PatternNode {
    const items: PatternNode[] = []
    for (let next = characters[at]; next !== undefined && next !== '|' && next !== ')'; next = characters[at]) {
      items.push(repeated(atom(depth)))
    }
    return oneOrAll('sequence', items)
  }

  function atom(depth: number): PatternNode {
    const start = at
    const character = characters[at] ?? ''
    at += 1
    switch (character) {
      case '.':
        return { kind: 'any' }
      case '^':
        return { kind: 'lineStart' }
      case '$':
        return { kind: 'lineEnd' }
      case '(':
        return group(depth, start)
      case '[':
        return { kind: 'class', class: bracket(start) }
      case '\\':
        return escape()
      case '*':
      case '+':
      case '?':
        throw wrong(`there is nothing before ${character} to repeat`, start)
      case '\n':
        throw wrong('it is matched line by line, and lines contain no line feed', start)
      default:
        return { kind: 'literal', code: character.codePointAt(0) ?? 0 }
    }
  }

  function group(depth: number, start: number): PatternNode {
    if (characters[at] === '?') {
      const [opening] = /^\?(?::|P?<[A-Za-z_]\w*>)/.exec(rest(100)) ?? []
      if (opening === undefined) {
        const isLook = /^\?<?[=!]/.test(rest(3))
        throw wrong(
          isLook ? 'lookahead and lookbehind are not supported' : 'this kind of group is not supported',
          start,
        )
      }
      at += opening.length
    }
    const inner = choice(depth + 1)
    if (characters[at] !== ')') throw wrong('the group is not closed', start)
    at += 1
    return inner
  }

  function repeated(item: PatternNode): PatternNode {
    const start = at
    const counted = /^\{(\d{1,5})(,?)(\d{0,5})\}/.exec(rest(16))
    const [sign] = /^[*+?]/.exec(rest(1)) ?? []
    if (sign === undefined && counted === null) return item
    at += counted?.[0].length ?? 1
    // lazy or greedy makes no difference to which lines match
    if (characters[at] === '?') at += 1
    if (/^(?:[*+?]|\{\d+(?:,\d*)?\})/.test(rest(16)))
      throw wrong('a repetition cannot be repeated: put it into a group')
    if (sign !== undefined) return repeat(item, sign === '+' ? 1 : 0, sign === '?' ? 1 : undefined)
    const [, first = '', comma = '', last = ''] = counted ?? []
    const least = Number(first)
    const most = comma === '' ? least : last === '' ? undefined : Number(last)
    if (least > mostRepeats || (most ?? 0) > mostRepeats) throw wrong(`at most ${mostRepeats} repetitions`, start)
    if (most !== undefined && most < least) throw wrong('the limits of a repetition are in the wrong order', start)
    return repeat(item, least, most)
  }

  function escape(): PatternNode {
    if (characters[at] === 'b' || characters[at] === 'B') {
      at += 1
      return { kind: characters[at - 1] === 'b' ? 'wordEdge' : 'noWordEdge' }
    }
    const item = escaped()
    if (item.kind === 'range') return { kind: 'literal', code: item.from }
    return { kind: 'class', class: { isNegated: false, items: [item] } }
  }

  /** The element after a backslash, inside and outside brackets. */
  function escaped(): ClassItem {
    const start = at - 1
    const name = characters[at]
    if (name === undefined) throw wrong('a backslash at its end', start)
    at += 1
    const code = controls[name]
    if (code !== undefined) return single(code)
    const lower = name.toLowerCase()
    if (lower === 'd' || lower === 's' || lower === 'w') return { kind: 'set', name: lower, isNegated: name !== lower }
    if (lower === 'p') return property(name === 'P', start)
    if (name === 'x' || name === 'u' || name === 'U') return coded(name, start)
    if (name === 'n') throw wrong('it is matched line by line, and lines contain no line feed', start)
    if (/\d/.test(name)) throw wrong('backreferences are not supported', start)
    if (/[A-Za-z<>]/.test(name)) throw wrong(`\\${name} is not supported`, start)
    return single(name.codePointAt(0) ?? 0)
  }

  function property(isNegated: boolean, start: number): ClassItem {
    const [whole, name = ''] = /^(?:([A-Z])|\{([A-Z][a-z]?)\})/.exec(rest(4)) ?? []
    const category = name || (whole ?? '').slice(1, -1)
    if (whole === undefined || !categories.test(category)) {
      throw wrong('only general categories are supported, such as \\p{Lu}', start)
    }
    at += whole.length
    return { kind: 'property', name: category, isNegated }
  }

  function coded(letter: string, start: number): ClassItem {
    const digits = { x: 2, u: 4, U: 8 }[letter] ?? 2
    const [whole, inner] = new RegExp(`^(?:\\{([\\da-fA-F]{1,6})\\}|[\\da-fA-F]{${digits}})`).exec(rest(10)) ?? []
    const code = Number.parseInt(inner ?? whole ?? '', 16)
    const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
    if (whole === undefined || !isCharacter || code === 10)
      throw wrong('this is not a character that a line can contain', start)
    at += whole.length
    return single(code)
  }

  function bracket(start: number): CharacterClass {
    const isNegated = characters[at] === '^'
    if (isNegated) at += 1
    const items: ClassItem[] = []
    for (let isFirst = true; ; isFirst = false) {
      const character = characters[at]
      if (character === undefined) throw wrong('the class is not closed: write \\[ for the character itself', start)
      if (character === ']' && !isFirst) break
      const named = character === '[' ? posixClass() : undefined
      if (named === undefined) items.push(rangeOf(member()))
      else items.push(...named)
    }
    at += 1
    return { isNegated, items }
  }

  function member(): ClassItem {
    const character = characters[at] ?? ''
    at += 1
    if (character === '\n') throw wrong('it is matched line by line, and lines contain no line feed', at - 1)
    if (character !== '\\') return single(character.codePointAt(0) ?? 0)
    if (characters[at] === 'b' || characters[at] === 'B') throw wrong('\\b is not a character of a class', at - 1)
    return escaped()
  }

  function rangeOf(first: ClassItem): ClassItem {
    if (characters[at] !== '-' || characters[at + 1] === ']' || characters[at + 1] === undefined) return first
    const start = at
    at += 1
    const last = member()
    if (first.kind !== 'range' || last.kind !== 'range') throw wrong('a range needs a character at each end', start)
    if (last.to < first.from) throw wrong('the ends of a range are in the wrong order', start)
    return { kind: 'range', from: first.from, to: last.to }
  }

  function posixClass(): readonly ClassItem[] | undefined {
    const [whole, name = ''] = /^\[:([a-z]+):\]/.exec(rest(12)) ?? []
    const ranges = posix[name]
    if (whole === undefined || ranges === undefined) return undefined
    at += whole.length
    return ranges.map(([from, to]) => ({ kind: 'range', from, to }))
  }

  const node = choice(0)
  if (at < characters.length) throw wrong('an unmatched ): write \\) for the character itself')
  return { node, ignoresCase }
}

function single(code: number): ClassItem {
  return { kind: 'range', from: code, to: code }
}

function oneOrAll(kind: 'sequence' | 'choice', items: readonly PatternNode[]): PatternNode {
  const [first] = items
  return items.length === 1 && first !== undefined ? first : { kind, items }
}

/** `(a+)+` is `a+`: backtracking engines would try all ways to divide a text, forever. */
function repeat(item: PatternNode, least: number, most: number | undefined): PatternNode {
  const isEndless = most === undefined && least <= 1
  if (isEndless && item.kind === 'repeat' && item.most === undefined && item.least <= 1) {
    return { ...item, least: Math.min(least, item.least) }
  }
  return { kind: 'repeat', item, least, ...(most !== undefined && { most }) }
}
