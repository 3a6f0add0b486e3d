import { basename } from 'node:path'
import type { CommandText, ReadCommand, ToolSubject } from '../event/permission.ts'
import { NotUnderstood, type ShellWord, type WrittenCommand } from './command-cursor.ts'
import { readShell } from './command-reader.ts'
import { innerCommands } from './command-wrappers.ts'

/** Maximum nesting of lines in lines: `sh -c 'sh -c …'`. */
const deepest = 8
/** Longer lines are not parsed. */
const mostCharacters = 100_000

/**
 * Parses a command line for the patterns of `[permission]`: returns each simple command in it, including those started
 * by other commands, as one text with single spaces between words and single quotes around unusual ones. `doubt` is why
 * no pattern can allow the line.
 */
export function commandSubject(line: string): Extract<ToolSubject, { readonly kind: 'command' }> {
  const commands: ReadCommand[] = []
  const doubts = new Set<string>()
  let unread: true | undefined

  function add({ assignments, words }: WrittenCommand, depth: number, isOpen = false): void {
    const [first] = words
    if (first?.openAt !== undefined) doubts.add('a command whose name is not known')
    if (assignments.some(({ text }) => isDangerous(text))) doubts.add('a variable that decides what is run')
    // bash evaluates a subscript, and what the variables in it contain
    if (assignments.some(({ text }) => /^\w+\[(?!\d+\]\+?=)/.test(text))) unread = true
    commands.push({ texts: textsOf({ assignments, words }, isOpen) })
    for (const inner of innerCommands(words, isOpen)) {
      if (inner.kind === 'variable') {
        if (isDangerous(inner.name)) doubts.add('a variable that decides what is run')
      } else if (depth >= deepest || inner.kind === 'unknown') {
        doubts.add('a command that is started by another one')
        unread = true
      } else if (inner.kind === 'line') read(inner.line, depth + 1)
      else add(splitWords(inner.words), depth + 1, isOpen || inner.isOpen === true)
    }
  }

  /** A loop sets its variable. In lower case without `_`, programs do not read it. */
  function assign({ text, openAt }: ShellWord, depth: number): void {
    if (openAt === undefined && /^[a-z][a-z0-9]*$/.test(text)) return
    const written = `${text}=`
    add({ assignments: [{ text: written, raw: written, openAt: openAt ?? written.length }], words: [] }, depth)
  }

  function read(text: string, depth: number): void {
    try {
      if (text.length > mostCharacters || text.includes('\0')) throw new NotUnderstood()
      readShell(text, {
        command: (command) => add(command, depth),
        variable: (word) => assign(word, depth),
        doubt: (what) => doubts.add(what),
      })
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

/** Assignments before a command that `env` starts are parsed as words of `env`. */
function splitWords(words: readonly ShellWord[]): WrittenCommand {
  const count = words.findIndex(({ text }) => !/^[A-Za-z_]\w*=/.test(text))
  const end = count === -1 ? words.length : count
  return { assignments: words.slice(0, end), words: words.slice(end) }
}

/**
 * The whole command, which allowing patterns are matched against; without variables; with only the base name of the
 * program.
 */
function textsOf({ assignments, words }: WrittenCommand, isOpen: boolean): readonly [CommandText, ...CommandText[]] {
  const told = assignments.filter(({ text }) => words.length === 0 || !isHarmless(text))
  const whole = textOf([...told, ...words], isOpen)
  const [program, ...rest] = words
  if (program === undefined) return [whole]
  const bare = textOf(words, isOpen)
  // a program whose name is not known can be any
  if (program.openAt !== undefined) return [whole, bare, { text: '', isOpen: true }]
  const named = { ...program, text: basename(program.text) }
  const short = named.text === program.text ? [] : [textOf([named, ...rest], isOpen)]
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
    // unusual characters would be quoted together with the unknown part
    parts.push(quoted(known) === known ? known : '')
    return { text: parts.join(' '), isOpen: true }
  }
  return isOpen ? { text: `${parts.join(' ')} `, isOpen } : { text: parts.join(' ') }
}

function quoted(text: string): string {
  return /^[^\s'"\\;&|<>()$`!]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Variables that only change what is displayed, not what is found or run. */
function isHarmless(assignment: string): boolean {
  return /^(?:CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES)=/.test(assignment)
}

/** Variables that decide which programs are found or started: a pattern never allows them. */
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
