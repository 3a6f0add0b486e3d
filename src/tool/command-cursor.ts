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

/** Receives the parts of a line as it is parsed. */
export interface LineSink {
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
export interface ShellCursor {
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
export function enterList(cursor: ShellCursor): void {
  cursor.depth += 1
  if (cursor.depth > mostDepth) throw new NotUnderstood()
}

/** The next character, or the one `ahead` of it; empty at the end. */
export function peek({ source, at }: ShellCursor, ahead = 0): string {
  return source.charAt(at + ahead)
}

export function startsWith({ source, at }: ShellCursor, text: string): boolean {
  return source.startsWith(text, at)
}

/** Skips spaces, tabs, line continuations and a comment. */
export function skipBlanks(cursor: ShellCursor): void {
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
