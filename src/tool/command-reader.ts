import {
  enterList,
  type LineSink,
  NotUnderstood,
  peek,
  type ShellCursor,
  type ShellWord,
  skipBlanks,
  startsWith,
} from './command-cursor.ts'
import { readExpanded, readWord } from './command-words.ts'

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
