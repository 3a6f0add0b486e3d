import { enterList, NotUnderstood, peek, type ShellCursor, type ShellWord, startsWith } from './command-cursor.ts'

/** A word being parsed. */
interface Draft {
  readonly start: number
  text: string
  openAt: number | undefined
  splits: boolean
}

/** Parses a word with its quotes, variables and substitutions. @throws NotUnderstood if there is none */
export function readWord(cursor: ShellCursor): ShellWord {
  const draft: Draft = { start: cursor.at, text: '', openAt: undefined, splits: false }
  for (;;) {
    const next = peek(cursor)
    if (next === '' || ' \t\n;&|()'.includes(next)) break
    if (next === '<' || next === '>') {
      if (peek(cursor, 1) !== '(' || cursor.at > draft.start) break
      cursor.sink.doubt('a substitution')
      cursor.at += 2
      cursor.readList(cursor, ')')
      open(draft)
    } else if (next === '\\') readEscape(cursor, draft)
    else if (next === "'") draft.text += readSingle(cursor)
    else if (next === '"') readDouble(cursor, draft)
    else if (next === '$') {
      const isNumber = /^\$[?#$!]/.test(cursor.source.slice(cursor.at, cursor.at + 2))
      const found = readDollar(cursor, false)
      draft.splits ||= found === undefined && !isNumber
      take(draft, found)
    } else if (next === '`') {
      readBackticks(cursor)
      draft.splits = true
      open(draft)
    } else readPlain(cursor, draft)
  }
  const { start, text, openAt, splits } = draft
  if (cursor.at === start) throw new NotUnderstood()
  const raw = cursor.source.slice(start, cursor.at).replaceAll('\\\n', '')
  return { text, raw, ...(openAt === undefined ? {} : { openAt }), ...(splits ? { splits } : {}) }
}

/** Parses text up to `end` that is expanded as in double quotes. */
export function readExpanded(cursor: ShellCursor, end: number): void {
  while (cursor.at < end) {
    if (peek(cursor) === '\\') cursor.at += 2
    else if (peek(cursor) === '$') readDollar(cursor, true)
    else if (peek(cursor) === '`') readBackticks(cursor)
    else cursor.at += 1
  }
}

/** From here on the word is unknown. */
function open(draft: Draft): void {
  draft.openAt ??= draft.text.length
}

/** Adds the value of a `$` expansion; undefined if it is unknown. */
function take(draft: Draft, found: string | undefined): void {
  if (found === undefined) open(draft)
  else draft.text += found
}

function readEscape(cursor: ShellCursor, draft: Draft): void {
  const { source, at } = cursor
  if (at + 1 >= source.length) throw new NotUnderstood()
  const code = source.codePointAt(at + 1)
  const escaped = code === undefined ? '' : String.fromCodePoint(code)
  if (escaped !== '\n') draft.text += escaped
  cursor.at += 1 + (escaped.length || 1)
}

function readSingle(cursor: ShellCursor): string {
  const end = cursor.source.indexOf("'", cursor.at + 1)
  if (end === -1) throw new NotUnderstood()
  const text = cursor.source.slice(cursor.at + 1, end)
  cursor.at = end + 1
  return text
}

function readDouble(cursor: ShellCursor, draft: Draft): void {
  cursor.at += 1
  for (;;) {
    const next = peek(cursor)
    if (next === '') throw new NotUnderstood()
    if (next === '"') break
    if (next === '\\' && '$`"\\\n'.includes(peek(cursor, 1) || ' ')) {
      if (peek(cursor, 1) !== '\n') draft.text += peek(cursor, 1)
      cursor.at += 2
    } else if (next === '$') {
      draft.splits ||= /^\$(?:@|\{@)/.test(cursor.source.slice(cursor.at, cursor.at + 3))
      take(draft, readDollar(cursor, true))
    } else if (next === '`') {
      readBackticks(cursor)
      open(draft)
    } else {
      if (next === '!' && !' \t\n="'.includes(peek(cursor, 1) || ' ')) cursor.sink.doubt('a history expansion')
      draft.text += next
      cursor.at += 1
    }
  }
  cursor.at += 1
}

/** An unquoted character, which may be a glob. */
function readPlain(cursor: ShellCursor, draft: Draft): void {
  const { source, at, sink } = cursor
  const next = peek(cursor)
  const isEmptyBraces = startsWith(cursor, '{}')
  const isLone = (sign: string): boolean => at === draft.start && next === sign && /^[ \t\n]?$/.test(peek(cursor, 1))
  // `[` and `[[` are command names
  const isBracketCommand = /^\[{1,2}(?:[ \t\n]|$)/.test(source.slice(draft.start, draft.start + 3))
  const isGlob =
    '*?'.includes(next) || (next === '[' && !isBracketCommand) || (next === '{' && !isEmptyBraces && !isLone('{'))
  const isHome = next === '~' && (at === draft.start || '=:'.includes(source.charAt(at - 1)))
  if (isGlob || isHome) open(draft)
  if (next === '!' && !isLone('!') && !' \t\n=(;&|'.includes(peek(cursor, 1) || ' ')) sink.doubt('a history expansion')
  const code = source.codePointAt(at) ?? 0
  if (code < 0x20 || code === 0x7f || (code > 0x7f && /[\s\p{C}\p{Z}]/u.test(String.fromCodePoint(code))))
    sink.doubt('an invisible character')
  const taken = isEmptyBraces ? '{}' : String.fromCodePoint(code)
  draft.text += taken
  cursor.at += taken.length
}

/** At a `$`: returns its text if that is known. */
function readDollar(cursor: ShellCursor, inQuotes: boolean): string | undefined {
  const { sink, source } = cursor
  cursor.at += 1
  // what follows a continuation belongs to the `$`
  if (startsWith(cursor, '\\\n')) throw new NotUnderstood()
  if (startsWith(cursor, '((') || peek(cursor) === '[') throw new NotUnderstood()
  if (peek(cursor) === '(') {
    sink.doubt('a substitution')
    cursor.at += 1
    cursor.readList(cursor, ')')
    return undefined
  }
  if (!inQuotes && peek(cursor) === "'") return readEscaped(cursor)
  if (!inQuotes && peek(cursor) === '"') {
    sink.doubt('a translated text')
    return ''
  }
  const rest = source.slice(cursor.at)
  const [name] = /^(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{(?:[A-Za-z_]\w*|[0-9]+|[@*#?$!-])\})/.exec(rest) ?? []
  if (name !== undefined) {
    cursor.at += name.length
    return undefined
  }
  if (peek(cursor) === '{') throw new NotUnderstood()
  return '$'
}

/** A nested line in which some characters have another level of escaping. */
function readBackticks(cursor: ShellCursor): void {
  cursor.sink.doubt('a substitution')
  let inner = ''
  cursor.at += 1
  while (peek(cursor) !== '`') {
    if (peek(cursor) === '') throw new NotUnderstood()
    if (peek(cursor) === '\\' && '$`\\'.includes(peek(cursor, 1) || ' ')) cursor.at += 1
    inner += peek(cursor)
    cursor.at += 1
  }
  cursor.at += 1
  enterList(cursor)
  cursor.readAgain(inner)
  cursor.depth -= 1
}

/** `$'…'` */
function readEscaped(cursor: ShellCursor): string {
  const [whole, inner] = /^'((?:[^'\\]|\\[^])*)'/.exec(cursor.source.slice(cursor.at)) ?? []
  if (whole === undefined || inner === undefined) throw new NotUnderstood()
  cursor.at += whole.length
  // newer versions of bash have `\x{…}`
  if (/\\x\{/.test(inner)) throw new NotUnderstood()
  return inner.replaceAll(/\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|([^]))/g, unescaped)
}

const controls: { readonly [letter: string]: string } = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  v: '\v',
}

function unescaped(written: string, hex?: string, unicode?: string, octal?: string, letter = ''): string {
  const digits = hex ?? unicode
  if (digits !== undefined || octal !== undefined) {
    const code = digits === undefined ? Number.parseInt(octal ?? '', 8) & 0xff : Number.parseInt(digits, 16)
    // bash drops what follows a NUL character, and bytes are no characters
    if (code === 0 || (unicode === undefined && code > 0x7f)) throw new NotUnderstood()
    return String.fromCodePoint(code)
  }
  if (letter in controls) return controls[letter] ?? ''
  if ('\\\'"?'.includes(letter)) return letter
  // \c and \U are not supported; bash leaves other escapes unchanged
  if ('cU'.includes(letter)) throw new NotUnderstood()
  return written
}
