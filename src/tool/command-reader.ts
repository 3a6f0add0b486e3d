/** A word of a command line, without its quotes. */
export interface ShellWord {
  readonly text: string
  /** From here on the text is unknown: a variable, a substitution, a glob. If omitted, all of it is known. */
  readonly openAt?: number
  /** Its unknown text may become several words, or none. */
  readonly splits?: true
  /** As written, without line continuations. */
  readonly raw: string
}

/** One simple command as written: `A=1 npm test`. */
export interface WrittenCommand {
  readonly assignments: readonly ShellWord[]
  readonly words: readonly ShellWord[]
}

/** Grammar words at the start of a command; another command may follow them. */
const keywords: ReadonlySet<string> = new Set([
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'while',
  'until',
  'do',
  'done',
  '{',
  '}',
  '!',
  'time',
])
const beyond: ReadonlySet<string> = new Set(['case', 'select', 'coproc'])

/** The command being parsed. */
interface Current {
  assignments: ShellWord[]
  words: ShellWord[]
  /** The words are the list of a `for` loop. */
  isList: boolean
}

/**
 * Parses a line as bash does, as far as needed to find its simple commands, including those in substitutions, loops and
 * functions. If in doubt, it reports a command too many rather than one too few.
 * @throws NotUnderstood for syntax that is not supported or invalid
 */
export function readShell(source: string, sink: LineSink): void {
  const readAgain = (text: string): void => readShell(text, sink)
  readList({ source, sink, at: 0, depth: 0, pending: [], readList, readAgain }, undefined)
}

function readList(cursor: ShellCursor, closer: ')' | undefined): void {
  const { sink } = cursor
  enterList(cursor)
  let current: Current = { assignments: [], words: [], isList: false }
  const finish = (): void => {
    const { assignments, words, isList } = current
    if (!isList && assignments.length + words.length > 0) sink.command({ assignments, words })
    current = { assignments: [], words: [], isList: false }
  }
  const begins = (): boolean => !current.isList && current.assignments.length + current.words.length === 0

  for (;;) {
    skipBlanks(cursor)
    const next = peek(cursor)
    if (next === '') {
      if (closer !== undefined) throw new NotUnderstood()
      finish()
      cursor.depth -= 1
      if (cursor.pending.length > 0) sink.doubt('an unterminated here-document')
      return
    }
    if (next === '\n') {
      finish()
      cursor.at += 1
      readHereDocuments(cursor)
    } else if (startsWith(cursor, '&>')) {
      readRedirect(cursor)
    } else if (next === ';' || next === '&' || next === '|') {
      if (startsWith(cursor, ';;') || startsWith(cursor, ';&')) throw new NotUnderstood()
      finish()
      cursor.at += ['&&', '||', '|&'].some((sign) => startsWith(cursor, sign)) ? 2 : 1
    } else if (next === ')') {
      if (closer === undefined) throw new NotUnderstood()
      finish()
      cursor.at += 1
      cursor.depth -= 1
      return
    } else if (next === '(') {
      openParenthesis(cursor, current, begins())
      if (!begins()) current = { assignments: [], words: [], isList: false }
    } else if ((next === '<' || next === '>') && peek(cursor, 1) !== '(') {
      readRedirect(cursor)
    } else {
      takeWord(cursor, current, begins())
    }
  }
}

/** A subshell, or the parentheses of a function definition. */
function openParenthesis(cursor: ShellCursor, { assignments, words }: Current, begins: boolean): void {
  const [name, ...others] = words
  if (begins && peek(cursor, 1) !== '(') {
    cursor.at += 1
    return readList(cursor, ')')
  }
  cursor.at += 1
  skipBlanks(cursor)
  if (begins || assignments.length + others.length > 0 || name === undefined || peek(cursor) !== ')')
    throw new NotUnderstood()
  cursor.at += 1
  cursor.sink.doubt('a function')
}

function takeWord(cursor: ShellCursor, current: Current, begins: boolean): void {
  const { sink } = cursor
  const word = readWord(cursor)
  const isBeforeRedirect = (): boolean => peek(cursor) === '<' || peek(cursor) === '>'
  if (!begins) {
    // the list of a loop is optional: `for x do`
    if (current.isList && current.words.length === 1 && word.raw === 'do') {
      current.isList = false
      current.words = []
    } else if (!current.isList && current.words.length === 0 && isAssignment(word)) current.assignments.push(word)
    else if (/^(?:\d+|\{\w+\})$/.test(word.raw) && isBeforeRedirect()) {
      if (word.raw.startsWith('{')) sink.doubt('a redirect into a file')
    } else current.words.push(word)
    return
  }
  if (word.raw === word.text && word.openAt === undefined) {
    if (beyond.has(word.text)) throw new NotUnderstood()
    if (word.text === 'for') {
      current.isList = true
      skipBlanks(cursor)
      if (startsWith(cursor, '(')) throw new NotUnderstood()
      const variable = readWord(cursor)
      current.words.push(variable)
      sink.variable(variable)
      return
    }
    if (word.text === 'function') return readFunctionName(cursor)
    if (word.text === '[[') return readTest(cursor, word, current)
  }
  if (keywords.has(word.raw)) {
    if (word.raw === 'time') skipOptions(cursor)
    return
  }
  if (/^\d+$/.test(word.raw) && isBeforeRedirect()) return
  if (isAssignment(word)) current.assignments.push(word)
  else current.words.push(word)
}

/** Up to `]]`; bash evaluates names and numbers in it, which may contain commands. */
function readTest(cursor: ShellCursor, first: ShellWord, current: Current): void {
  current.words.push(first)
  for (;;) {
    skipBlanks(cursor)
    const sign = ['&&', '||', '\n'].find((one) => startsWith(cursor, one))
    if (sign !== undefined) {
      cursor.at += sign.length
      continue
    }
    const word = readWord(cursor)
    if (/^(?:=~|-v|-R|-eq|-ne|-lt|-le|-gt|-ge)$/.test(word.text)) throw new NotUnderstood()
    current.words.push(word)
    if (word.raw === ']]') return
  }
}

function readFunctionName(cursor: ShellCursor): void {
  skipBlanks(cursor)
  readWord(cursor)
  skipBlanks(cursor)
  if (startsWith(cursor, '()')) cursor.at += 2
  cursor.sink.doubt('a function')
}

function skipOptions(cursor: ShellCursor): void {
  skipBlanks(cursor)
  while (/^-(?:p|-)(?=[ \t])/.test(cursor.source.slice(cursor.at, cursor.at + 3))) {
    cursor.at += 2
    skipBlanks(cursor)
  }
}

function isAssignment({ raw }: ShellWord): boolean {
  // a subscript may contain brackets and quotes
  return /^[A-Za-z_]\w*(?:\[[^]*\])?\+?=/.test(raw)
}

function readRedirect(cursor: ShellCursor): void {
  const { source, sink } = cursor
  const written = source.slice(cursor.at, cursor.at + 3)
  const [operator = ''] = /^(?:&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)/.exec(written) ?? []
  cursor.at += operator.length
  // the operator may go on in the next line
  if (startsWith(cursor, '\\\n')) throw new NotUnderstood()
  skipBlanks(cursor)
  const { text, raw, openAt } = readWord(cursor)
  const isKnown = openAt === undefined
  if (operator === '<<' || operator === '<<-') {
    if (!isKnown && /[$`]/.test(raw)) throw new NotUnderstood()
    cursor.pending.push({ end: text, isStripped: operator === '<<-', isLiteral: raw !== text })
    return
  }
  if (operator === '<<<') return
  if (operator === '<') {
    if (!isKnown || /^\/dev\/(?!null$)/.test(text)) sink.doubt('a redirect from something unknown')
    return
  }
  const isCopy = (operator === '>&' || operator === '<&') && /^(?:\d+-?|-)$/.test(text)
  if (!isKnown || (!isCopy && !(text === '/dev/null' && operator !== '<>' && operator !== '<&')))
    sink.doubt('a redirect into a file')
}

/** After the end of a line: skips the texts of its here-documents, and parses the expansions in them. */
function readHereDocuments(cursor: ShellCursor): void {
  const { source, sink, pending } = cursor
  cursor.pending = []
  for (const { end, isStripped, isLiteral } of pending) {
    const start = cursor.at
    let body = source.length
    for (;;) {
      const stop = source.indexOf('\n', cursor.at)
      const line = source.slice(cursor.at, stop === -1 ? source.length : stop)
      // the line continues, so the next one cannot be checked for the end
      if (!isLiteral && line.endsWith('\\')) throw new NotUnderstood()
      if ((isStripped ? line.replace(/^\t+/, '') : line) === end) {
        body = cursor.at
        cursor.at = stop === -1 ? source.length : stop + 1
        break
      }
      if (stop === -1) {
        sink.doubt('an unterminated here-document')
        cursor.at = source.length
        break
      }
      cursor.at = stop + 1
    }
    if (isLiteral) continue
    const after = cursor.at
    cursor.at = start
    readExpanded(cursor, body)
    cursor.at = after
  }
}

/** A word being parsed. */
interface Draft {
  readonly start: number
  text: string
  openAt: number | undefined
  splits: boolean
}

/** Parses a word with its quotes, variables and substitutions. @throws NotUnderstood if there is none */
function readWord(cursor: ShellCursor): ShellWord {
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
function readExpanded(cursor: ShellCursor, end: number): void {
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

/** Receives the parts of a line as it is parsed. */
interface LineSink {
  readonly command: (command: WrittenCommand) => void
  /** The variable of a loop. */
  readonly variable: (name: ShellWord) => void
  /** A reason why no pattern can allow the line. */
  readonly doubt: (what: string) => void
}

/** Thrown for syntax that is not supported. */
export class NotUnderstood extends Error {}

/** Its text starts after the line that contains it. */
interface HereDocument {
  readonly end: string
  readonly isStripped: boolean
  readonly isLiteral: boolean
}

/** A line, and the position up to which it has been parsed. */
interface ShellCursor {
  readonly source: string
  readonly sink: LineSink
  /** Index of the next character. */
  at: number
  /** Nesting depth of lists. */
  depth: number
  /** Here-documents of the current line, in order. */
  pending: HereDocument[]
  /** Parses the list of a substitution up to its `)`; a callback, because the parser of words does not know lists. */
  readonly readList: (cursor: ShellCursor, closer: ')') => void
  /** Parses a text as a separate line. */
  readonly readAgain: (text: string) => void
}

/** Deeper lists are not supported. */
const mostDepth = 50

/** Enters a nested list. @throws NotUnderstood */
function enterList(cursor: ShellCursor): void {
  cursor.depth += 1
  if (cursor.depth > mostDepth) throw new NotUnderstood()
}

/** The next character, or the one `ahead` of it; empty at the end. */
function peek({ source, at }: ShellCursor, ahead = 0): string {
  return source.charAt(at + ahead)
}

function startsWith({ source, at }: ShellCursor, text: string): boolean {
  return source.startsWith(text, at)
}

/** Skips spaces, tabs, line continuations and a comment. */
function skipBlanks(cursor: ShellCursor): void {
  for (;;) {
    const next = peek(cursor)
    if (next === ' ' || next === '\t') cursor.at += 1
    else if (startsWith(cursor, '\\\n')) cursor.at += 2
    else if (next === '#' && isWordStart(cursor)) {
      while (peek(cursor) !== '' && peek(cursor) !== '\n') cursor.at += 1
    } else return
  }
}

function isWordStart({ source, at }: ShellCursor): boolean {
  return at === 0 || ' \t\n;&|()<>'.includes(source.charAt(at - 1))
}
