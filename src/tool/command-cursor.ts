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

/** Of which the text begins behind the line that it is written in. */
interface HereDocument {
  readonly end: string
  readonly isStripped: boolean
  readonly isLiteral: boolean
}

/** A line, and how far it has been read. */
export interface ShellCursor {
  readonly source: string
  readonly sink: LineSink
  /** Index of the character that is read next. */
  at: number
  /** Lists within lists. */
  depth: number
  /** Here-documents of the present line, in order. */
  pending: HereDocument[]
  /** Reads the list of a substitution up to its `)`; what words are read with does not know lists. */
  readonly readList: (cursor: ShellCursor, closer: ')') => void
  /** Reads a text as a line of its own. */
  readonly readAgain: (text: string) => void
}

/** Lists that are further in are not understood. */
const mostDepth = 50

/** Goes one list further in. @throws NotUnderstood */
export function enterList(cursor: ShellCursor): void {
  cursor.depth += 1
  if (cursor.depth > mostDepth) throw new NotUnderstood()
}

/** The next character, or one behind it; empty at the end. */
export function peek({ source, at }: ShellCursor, ahead = 0): string {
  return source.charAt(at + ahead)
}

export function startsWith({ source, at }: ShellCursor, text: string): boolean {
  return source.startsWith(text, at)
}

/** Passes blanks, continued lines and a comment. */
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
