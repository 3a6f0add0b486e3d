import { basename } from 'node:path'
import type { CommandText, ReadCommand, ToolSubject } from '../event/permission.ts'
import { NotUnderstood, type ShellWord, type WrittenCommand } from './command-cursor.ts'
import { readShell } from './command-reader.ts'
import { innerCommands } from './command-wrappers.ts'

/** Lines are read in lines in lines no further than this: `sh -c 'sh -c …'`. */
const deepest = 8
/** What is longer is not read. */
const mostCharacters = 100_000

/**
 * Reads a command line for the patterns of `[permission]`: each simple command in it, also those that others start, as one
 * text: words with one space between them, odd ones in single quotes. `doubt` is why no pattern allows the line.
 */
export function commandSubject(line: string): Extract<ToolSubject, { readonly kind: 'command' }> {
  const commands: ReadCommand[] = []
  const doubts = new Set<string>()
  let unread: true | undefined

  function add({ assignments, words }: WrittenCommand, depth: number, isOpen = false): void {
    const [first] = words
    if (first?.openAt !== undefined) doubts.add('a command whose name is not known')
    if (assignments.some(({ text }) => isDangerous(text))) doubts.add('a variable that decides what is run')
    commands.push({ texts: textsOf({ assignments, words }, isOpen) })
    for (const inner of innerCommands(words)) {
      if (depth >= deepest || inner.kind === 'unknown') {
        doubts.add('a command that is started by another one')
        unread = true
      } else if (inner.kind === 'line') read(inner.line, depth + 1)
      else add(splitWords(inner.words), depth + 1, isOpen || inner.isOpen === true)
    }
  }

  function read(text: string, depth: number): void {
    try {
      if (text.length > mostCharacters || text.includes('\0')) throw new NotUnderstood()
      readShell(text, { command: (command) => add(command, depth), doubt: (what) => doubts.add(what) })
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error
      doubts.add('something that is not understood')
      unread = true
    }
  }

  read(line, 0)
  const [doubt] = doubts
  return {
    kind: 'command',
    line,
    commands,
    ...(doubt === undefined ? {} : { doubt }),
    ...(unread === undefined ? {} : { unread }),
  }
}

/** Assignments in front of a command that `env` starts are words to it. */
function splitWords(words: readonly ShellWord[]): WrittenCommand {
  const count = words.findIndex(({ text }) => !/^[A-Za-z_]\w*=/.test(text))
  const end = count === -1 ? words.length : count
  return { assignments: words.slice(0, end), words: words.slice(end) }
}

/** The whole, which patterns that allow are held against; without variables; by the name of the program alone. */
function textsOf({ assignments, words }: WrittenCommand, isOpen: boolean): readonly [CommandText, ...CommandText[]] {
  const told = assignments.filter(({ text }) => words.length === 0 || !isHarmless(text))
  const whole = textOf([...told, ...words], isOpen)
  const [program, ...rest] = words
  if (program === undefined) return [whole]
  const bare = textOf(words, isOpen)
  const named = { ...program, text: basename(program.text) }
  const short = program.openAt === undefined && named.text !== program.text ? [textOf([named, ...rest], isOpen)] : []
  return [whole, ...(told.length === 0 ? [] : [bare]), ...short]
}

function textOf(words: readonly ShellWord[], isOpen: boolean): CommandText {
  const parts: string[] = []
  for (const { text, openAt } of words) {
    if (openAt === undefined) {
      parts.push(quoted(text))
      continue
    }
    const known = text.slice(0, openAt)
    // what is odd would be in quotes together with what is not known
    parts.push(quoted(known) === known ? known : '')
    return { text: parts.join(' '), isOpen: true }
  }
  return isOpen ? { text: `${parts.join(' ')} `, isOpen } : { text: parts.join(' ') }
}

function quoted(text: string): string {
  return /^[^\s'"\\;&|<>()$`!]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Variables that change what is shown, and neither what is found nor what is run. */
function isHarmless(assignment: string): boolean {
  return /^(?:CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES)=/.test(assignment)
}

/** Variables by which programs are found, or that make programs run others: never allowed by a pattern. */
function isDangerous(assignment: string): boolean {
  return (
    /^(?:PATH|IFS|ENV|HOME|SHELL|SHELLOPTS|BASHOPTS|CDPATH|PS4|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|CC|CXX|MAKEFLAGS)\b/.test(
      assignment,
    ) ||
    /^(?:LD_|DYLD_|GIT_|NODE_|BASH_|PYTHON|PERL|RUBY|JAVA_|_JAVA|JDK_|npm_|NPM_|YARN_|PIP_|CARGO_|RUST|GO[A-Z]|LESS|SSH_|XDG_|GCC_|LUA_|PROMPT_)/.test(
      assignment,
    ) ||
    /^\w+\[/.test(assignment)
  )
}
