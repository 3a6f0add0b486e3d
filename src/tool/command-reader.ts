/** A word of a command line without its quotes. */
export interface ShellWord {
  readonly text: string
  /** Where it stops being known: a variable, a substitution, a glob. Left out: it is known whole. */
  readonly openAt?: number
  /** As it is written. */
  readonly raw: string
}

/** One simple command as it is written: `A=1 npm test`. */
export interface WrittenCommand {
  readonly assignments: readonly ShellWord[]
  readonly words: readonly ShellWord[]
}

/** What is told of a line while it is read. */
export interface LineSink {
  readonly command: (command: WrittenCommand) => void
  /** Something that keeps it from being allowed by a pattern. */
  readonly doubt: (what: string) => void
}

/** Thrown for what is not understood. */
export class NotUnderstood extends Error {}

/** Words that are part of the grammar where a command may begin; behind them one may begin again. */
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
const beyond: ReadonlySet<string> = new Set(['case', 'select', 'coproc', '[['])

interface Current {
  assignments: ShellWord[]
  words: ShellWord[]
  /** The words are those that a loop goes through. */
  isList: boolean
}

interface HereDocument {
  readonly end: string
  readonly isStripped: boolean
  readonly isLiteral: boolean
}

/**
 * Reads a line as bash does, as far as it takes to know its simple commands, also those in substitutions, loops and
 * functions: rather one too many than one too few.
 * @throws NotUnderstood for grammar that it does not know, and for what is no valid line
 */
export function readShell(source: string, { command, doubt }: LineSink): void {
  let at = 0
  let depth = 0
  let pending: HereDocument[] = []
  const peek = (ahead = 0): string => source.charAt(at + ahead)
  const startsWith = (text: string): boolean => source.startsWith(text, at)

  readList(undefined)

  function readList(closer: ')' | undefined): void {
    depth += 1
    if (depth > 50) throw new NotUnderstood()
    let current: Current = { assignments: [], words: [], isList: false }
    const finish = (): void => {
      const { assignments, words, isList } = current
      if (!isList && assignments.length + words.length > 0) command({ assignments, words })
      current = { assignments: [], words: [], isList: false }
    }
    const begins = (): boolean => !current.isList && current.assignments.length + current.words.length === 0

    for (;;) {
      skipBlanks()
      const next = peek()
      if (next === '') {
        if (closer !== undefined) throw new NotUnderstood()
        finish()
        depth -= 1
        if (pending.length > 0) doubt('a here-document without an end')
        return
      }
      if (next === '\n') {
        finish()
        at += 1
        readHereDocuments()
      } else if (startsWith('&>')) {
        readRedirect()
      } else if (next === ';' || next === '&' || next === '|') {
        if (startsWith(';;') || startsWith(';&')) throw new NotUnderstood()
        finish()
        at += startsWith('&&') || startsWith('||') || startsWith('|&') ? 2 : 1
      } else if (next === ')') {
        if (closer === undefined) throw new NotUnderstood()
        finish()
        at += 1
        depth -= 1
        return
      } else if (next === '(') {
        openParenthesis(current, begins())
        if (!begins()) current = { assignments: [], words: [], isList: false }
      } else if ((next === '<' || next === '>') && peek(1) !== '(') {
        readRedirect()
      } else {
        takeWord(readWord(), current, begins())
      }
    }
  }

  /** A subshell, or the parentheses of a function that is defined. */
  function openParenthesis({ assignments, words: [name, ...others] }: Current, begins: boolean): void {
    if (begins && peek(1) !== '(') {
      at += 1
      return readList(')')
    }
    at += 1
    skipBlanks()
    if (begins || assignments.length + others.length > 0 || name === undefined || peek() !== ')')
      throw new NotUnderstood()
    at += 1
    doubt('a function')
  }

  function takeWord(word: ShellWord, current: Current, begins: boolean): void {
    if (!begins) {
      // the list of a loop may be left out: `for x do`
      if (current.isList && current.words.length === 1 && word.raw === 'do') {
        current.isList = false
        current.words = []
      } else if (!current.isList && current.words.length === 0 && isAssignment(word)) current.assignments.push(word)
      else if (/^(?:\d+|\{\w+\})$/.test(word.raw) && (peek() === '<' || peek() === '>')) {
        if (word.raw.startsWith('{')) doubt('a redirect into a file')
      } else current.words.push(word)
      return
    }
    if (word.raw === word.text && word.openAt === undefined) {
      if (beyond.has(word.text)) throw new NotUnderstood()
      if (word.text === 'for') {
        current.isList = true
        return
      }
      if (word.text === 'function') {
        skipBlanks()
        readWord()
        skipBlanks()
        if (startsWith('()')) at += 2
        doubt('a function')
        return
      }
    }
    if (keywords.has(word.raw)) {
      if (word.raw === 'time') skipOptions()
      return
    }
    if (/^\d+$/.test(word.raw) && (peek() === '<' || peek() === '>')) return
    if (isAssignment(word)) current.assignments.push(word)
    else current.words.push(word)
  }

  function skipOptions(): void {
    skipBlanks()
    while (/^-(?:p|-)(?=[ \t])/.test(source.slice(at, at + 3))) {
      at += 2
      skipBlanks()
    }
  }

  function skipBlanks(): void {
    for (;;) {
      const next = peek()
      if (next === ' ' || next === '\t') at += 1
      else if (startsWith('\\\n')) at += 2
      else if (next === '#' && isWordStart()) while (peek() !== '' && peek() !== '\n') at += 1
      else return
    }
  }

  function isWordStart(): boolean {
    return at === 0 || ' \t\n;&|()<>'.includes(source.charAt(at - 1))
  }

  function readRedirect(): void {
    const [operator = ''] = /^(?:&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)/.exec(source.slice(at, at + 3)) ?? []
    at += operator.length
    skipBlanks()
    if (operator === '<<' || operator === '<<-') {
      const { text, raw, openAt } = readWord()
      if (openAt !== undefined && /[$`]/.test(raw)) throw new NotUnderstood()
      pending.push({ end: text, isStripped: operator === '<<-', isLiteral: raw !== text })
      return
    }
    const { text, openAt } = readWord()
    const isKnown = openAt === undefined
    if (operator === '<' || operator === '<<<') {
      if (operator === '<' && (!isKnown || /^\/dev\/(?!null$)/.test(text))) doubt('a redirect from something unknown')
      return
    }
    const isCopy = (operator === '>&' || operator === '<&') && /^(?:\d+-?|-)$/.test(text)
    if (!isKnown || (!isCopy && !(text === '/dev/null' && operator !== '<>' && operator !== '<&')))
      doubt('a redirect into a file')
  }

  function readHereDocuments(): void {
    const documents = pending
    pending = []
    for (const { end, isStripped, isLiteral } of documents) {
      const start = at
      let body = source.length
      for (;;) {
        const stop = source.indexOf('\n', at)
        const line = source.slice(at, stop === -1 ? source.length : stop)
        // the next line would be a part of this one
        if (!isLiteral && line.endsWith('\\')) throw new NotUnderstood()
        if ((isStripped ? line.replace(/^\t+/, '') : line) === end) {
          body = at
          at = stop === -1 ? source.length : stop + 1
          break
        }
        if (stop === -1) {
          doubt('a here-document without an end')
          at = source.length
          break
        }
        at = stop + 1
      }
      if (isLiteral) continue
      const after = at
      at = start
      readExpanded(body)
      at = after
    }
  }

  /** Text that is expanded like that in double quotes. */
  function readExpanded(end: number): void {
    while (at < end) {
      if (peek() === '\\') at += 2
      else if (peek() === '$') readDollar(true)
      else if (peek() === '`') readBackticks()
      else at += 1
    }
  }

  function readWord(): ShellWord {
    const start = at
    let text = ''
    let openAt: number | undefined
    const open = (): void => {
      openAt ??= text.length
    }

    for (;;) {
      const next = peek()
      if (next === '' || ' \t\n;&|()'.includes(next)) break
      if (next === '<' || next === '>') {
        if (peek(1) !== '(' || at > start) break
        doubt('a substitution')
        at += 2
        readList(')')
        open()
      } else if (next === '\\') {
        if (at + 1 >= source.length) throw new NotUnderstood()
        if (peek(1) !== '\n') text += character(at + 1)
        at += 1 + (character(at + 1).length || 1)
      } else if (next === "'") {
        text += readTo("'")
      } else if (next === '"') {
        readDouble()
      } else if (next === '$') {
        take(readDollar(false))
      } else if (next === '`') {
        readBackticks()
        open()
      } else {
        plain(next)
      }
    }
    if (at === start) throw new NotUnderstood()
    return { text, raw: source.slice(start, at), ...(openAt === undefined ? {} : { openAt }) }

    function plain(next: string): void {
      const isEmptyBraces = startsWith('{}')
      if (
        '*?'.includes(next) ||
        (next === '[' && !isBracketCommand()) ||
        (next === '{' && !isEmptyBraces && !isLone('{'))
      )
        open()
      if (next === '~' && (at === start || '=:'.includes(source.charAt(at - 1)))) open()
      if (next === '!' && !isLone('!') && !' \t\n=(;&|'.includes(peek(1) || ' ')) doubt('a history expansion')
      const code = source.codePointAt(at) ?? 0
      if (code < 0x20 || code === 0x7f || (code > 0x7f && /[\s\p{C}\p{Z}]/u.test(String.fromCodePoint(code))))
        doubt('a character that cannot be seen')
      const taken = isEmptyBraces ? '{}' : String.fromCodePoint(code)
      text += taken
      at += taken.length
    }

    function isLone(sign: string): boolean {
      return at === start && source.charAt(at) === sign && /^[ \t\n]?$/.test(peek(1))
    }

    /** `[` and `[[`, which are names of commands. */
    function isBracketCommand(): boolean {
      return /^\[{1,2}(?:[ \t\n]|$)/.test(source.slice(start, start + 3))
    }

    function readDouble(): void {
      at += 1
      for (;;) {
        const next = peek()
        if (next === '') throw new NotUnderstood()
        if (next === '"') break
        if (next === '\\' && '$`"\\\n'.includes(peek(1) || ' ')) {
          if (peek(1) !== '\n') text += peek(1)
          at += 2
        } else if (next === '$') take(readDollar(true))
        else if (next === '`') {
          readBackticks()
          open()
        } else {
          if (next === '!' && !' \t\n="'.includes(peek(1) || ' ')) doubt('a history expansion')
          text += next
          at += 1
        }
      }
      at += 1
    }

    /** What a `$` stands for; undefined: nobody knows. */
    function take(found: string | undefined): void {
      if (found === undefined) open()
      else text += found
    }
  }

  function character(index: number): string {
    const code = source.codePointAt(index)
    return code === undefined ? '' : String.fromCodePoint(code)
  }

  function readTo(quote: string): string {
    const end = source.indexOf(quote, at + 1)
    if (end === -1) throw new NotUnderstood()
    const text = source.slice(at + 1, end)
    at = end + 1
    return text
  }

  /** At a `$`: gives its text where that is known. */
  function readDollar(inQuotes: boolean): string | undefined {
    at += 1
    if (startsWith('((') || peek() === '[') throw new NotUnderstood()
    if (peek() === '(') {
      doubt('a substitution')
      at += 1
      readList(')')
      return undefined
    }
    if (!inQuotes && peek() === "'") return readEscaped()
    if (!inQuotes && peek() === '"') {
      doubt('a translated text')
      return ''
    }
    const [name] = /^(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{(?:[A-Za-z_]\w*|[0-9]+|[@*#?$!-])\})/.exec(source.slice(at)) ?? []
    if (name !== undefined) {
      at += name.length
      return undefined
    }
    if (peek() === '{') throw new NotUnderstood()
    return '$'
  }

  function readBackticks(): void {
    doubt('a substitution')
    let inner = ''
    at += 1
    while (peek() !== '`') {
      if (peek() === '') throw new NotUnderstood()
      if (peek() === '\\' && '$`\\'.includes(peek(1) || ' ')) at += 1
      inner += peek()
      at += 1
    }
    at += 1
    depth += 1
    if (depth > 50) throw new NotUnderstood()
    readShell(inner, { command, doubt })
    depth -= 1
  }

  /** `$'…'` */
  function readEscaped(): string {
    const [whole, inner] = /^'((?:[^'\\]|\\[^])*)'/.exec(source.slice(at)) ?? []
    if (whole === undefined || inner === undefined) throw new NotUnderstood()
    at += whole.length
    return inner.replaceAll(/\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|([^]))/g, unescaped)
  }
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
  if (digits !== undefined) return String.fromCodePoint(Number.parseInt(digits, 16))
  if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8) & 0xff)
  if (letter in controls) return controls[letter] ?? ''
  if ('\\\'"?'.includes(letter)) return letter
  // \c and \U, and what bash leaves as it is
  if ('cU'.includes(letter)) throw new NotUnderstood()
  return written
}

function isAssignment({ raw }: ShellWord): boolean {
  return /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(raw)
}
