import { RE2JS } from 're2js'
import { BatonError, messageOf } from './error.ts'

/**
 * A regular expression that is matched against each line of a text, by ripgrep or by `lineTest`. It means the same for
 * both: syntax that only one of them has is refused, and what they read differently is escaped.
 */
export interface SearchPattern {
  readonly source: string
  readonly ignoresCase: boolean
  /** It has `\b` or `\B` and characters beyond ASCII, of which only ripgrep knows which are parts of words. */
  readonly hasForeignWords: boolean
}

/** @throws BatonError USAGE, which says what is wrong and where */
export function compileSearch(text: string, { ignoreCase }: { readonly ignoreCase: boolean }): SearchPattern {
  if (text.length > mostCharacters) throw wrong(`it has more than ${mostCharacters} characters`)
  const source = text.replaceAll(parts, (part: string, at: number) => portable(part, at, text))
  const hasForeignWords = /[^\p{ASCII}]|\\[xuU]/u.test(text) && /(?<!\\)(?:\\\\)*\\[bB]/.test(text)
  const pattern = { source, ignoresCase: ignoreCase, hasForeignWords }
  // without flags, which would be part of its messages
  compile(source, 0)
  return pattern
}

const mostCharacters = 2_000

/**
 * Whether a line matches, in time that is linear in its length. `isAscii` is the case for all lines: their classes have
 * fewer characters.
 */
export function lineTest(pattern: SearchPattern, isAscii: boolean): (line: string) => boolean {
  const { source } = pattern
  const full = isAscii ? source : source.replaceAll(parts, unicodePart)
  const compiled = compile(full, RE2JS.MULTILINE | (pattern.ignoresCase ? RE2JS.CASE_INSENSITIVE : 0))
  return (line) => compiled.test(line)
}

function compile(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags)
  } catch (error) {
    throw wrong(messageOf(error).replace(/^error parsing regexp: /, ''))
  }
}

function wrong(problem: string, at?: number): BatonError {
  const place = at === undefined ? '' : ` (character ${at + 1})`
  return new BatonError('USAGE', `the regular expression is not valid: ${problem}${place}`)
}

const escape = String.raw`\\(?:[xuUpP]\{[^}]*\}|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[pP]?.|$)`
const named = String.raw`\[:\^?[a-z]+:\]`
const classes = String.raw`\[\^?\]?(?:${named}|${escape}|[^\]\\])*\]`
/** The parts of an expression: a class, an escape, a repetition count, the start of a group with options, a character. */
const parts = new RegExp(String.raw`${classes}|${escape}|\{\d+(?:,\d*)?\}|\(\?|.`, 'gsu')
/** The parts of a class without its brackets. */
const members = new RegExp(String.raw`${named}|${escape}|--|.`, 'gsu')
const brackets = /^(\[\^?)(.+)\]$/s

/** A part in the spelling that means the same for both. `at` is its place in the whole expression. */
function portable(part: string, at: number, whole: string): string {
  const [, open, content = ''] = brackets.exec(part) ?? []
  if (open !== undefined) return `${open}${content.replaceAll(members, (member) => portableMember(member, at))}]`
  switch (part) {
    case '{':
      return String.raw`\{`
    case '$':
      // a line may end in CR LF
      return String.raw`(?:\r?$)`
    case '(?':
      return portableGroup(whole.slice(at), at)
    default:
      return portableCharacter(part, at)
  }
}

function portableGroup(rest: string, at: number): string {
  if (/^\(\?(?::|P?<[A-Za-z_]\w*>|-?[is]+[:)])/.test(rest)) return '(?'
  const isLook = /^\(\?<?[=!]/.test(rest)
  throw wrong(isLook ? 'lookahead and lookbehind are not supported' : 'this kind of group is not supported', at)
}

/** Ripgrep would read a bracket as a class inside the class, and `&&`, `--` and `~~` as its operators. */
function portableMember(member: string, at: number): string {
  if (member === '--') return String.raw`-\-`
  return member.length === 1 && '[]&~'.includes(member) ? `\\${member}` : portableCharacter(member, at)
}

function portableCharacter(part: string, at: number): string {
  const [, name = ''] = /^\\(.?)/su.exec(part) ?? []
  if (part === '\n' || name === 'n') throw wrong('it is matched line by line, and lines contain no line feed', at)
  if (/\d/.test(name)) throw wrong('backreferences are not supported', at)
  if (/[a-zA-Z<>]/.test(name) && !/[abBdDfpPrsStuUvwWx]/.test(name)) throw wrong(`\\${name} is not supported`, at)
  const [, code] = /^\\[xuU]\{?(.+?)\}?$/.exec(part) ?? []
  if (code !== undefined) return `\\x{${code}}`
  return /[^\p{ASCII}]/u.test(name) ? name : part
}

const word = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}`
/** What `\d` and its like are in a class, for text that is not all ASCII. */
const unicodeMembers: Readonly<Record<string, string>> = {
  '\\d': String.raw`\p{Nd}`,
  '\\D': String.raw`\P{Nd}`,
  '\\s': String.raw`\p{White_Space}`,
  '\\S': String.raw`\P{White_Space}`,
  '\\w': word,
  // classes have no negated class inside, so these are the categories that have no parts of words
  '\\W': String.raw`\p{Z}\p{S}\p{C}\p{No}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}`,
}

function unicodePart(part: string): string {
  const [, open, content = ''] = brackets.exec(part) ?? []
  const inClass = (member: string): string => unicodeMembers[member] ?? member
  if (open !== undefined) return `${open}${content.replaceAll(members, inClass)}]`
  if (part === '\\W') return `[^${word}]`
  const found = unicodeMembers[part]
  return found === undefined ? part : `[${found}]`
}
