import { basename } from 'node:path'
import type { CommandText, ReadCommand, ToolSubject } from '../event/permission.ts'
import { NotUnderstood, readShell, type ShellWord, type WrittenCommand } from './command-reader.ts'

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

/** What a command starts. */
type Inner =
  /** Another command; `isOpen`: more words follow these. */
  | { readonly kind: 'command'; readonly words: readonly ShellWord[]; readonly isOpen?: true }
  /** A line for a shell. */
  | { readonly kind: 'line'; readonly line: string }
  /** Sets a variable of this shell. */
  | { readonly kind: 'variable'; readonly name: string }
  /** Cannot be determined. */
  | { readonly kind: 'unknown' }

const unknown: readonly Inner[] = [{ kind: 'unknown' }]

/** Options that take the next word (as letters), and options that take none; any other option is not understood. */
interface Options {
  readonly taking?: string
  readonly plain?: RegExp
  /** Number of words after the options that do not belong to the command: the duration of `timeout`. */
  readonly skipped?: number
  readonly hasAssignments?: true
  readonly addsWords?: true
  /** Without a command, it starts a shell. */
  readonly startsShell?: true
}

const wrappers: { readonly [name: string]: Options } = {
  env: { taking: 'uC', plain: /^(?:-|-[i0v]+|--ignore-environment|--unset=.*|--chdir=.*)$/, hasAssignments: true },
  sudo: { taking: 'ughpCTrtDR', plain: /^-[AbEeHiKkNnPSs]+$/, hasAssignments: true, startsShell: true },
  doas: { taking: 'uC', plain: /^-[nsL]+$/, startsShell: true },
  nohup: {},
  setsid: { plain: /^-[cfw]+$/ },
  command: { plain: /^-p$/ },
  builtin: {},
  exec: { taking: 'a', plain: /^-[cl]+$/ },
  time: { taking: 'fo', plain: /^-[apqv]+$/ },
  timeout: {
    taking: 'ks',
    plain: /^(?:-v|--(?:foreground|preserve-status|verbose|kill-after=.*|signal=.*))$/,
    skipped: 1,
  },
  nice: { taking: 'n', plain: /^(?:-\d+|--adjustment=.*)$/ },
  ionice: { taking: 'cn', plain: /^-t$/ },
  stdbuf: { taking: 'ioe', plain: /^(?:-[ioe].+|--(?:input|output|error)=.*)$/ },
  xargs: {
    taking: 'nPILsdaE',
    plain: /^(?:-[0rtpx]+|-[nPILsdaE].+|--(?:null|no-run-if-empty|verbose|max-\w+=.*|delimiter=.*))$/,
    addsWords: true,
  },
}

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'])
/** They start commands in ways that are not parsed here. */
const others: ReadonlySet<string> = new Set(
  (
    'parallel watch su script flock busybox strace ltrace chroot unshare nsenter systemd-run setpriv runuser ' +
    'start-stop-daemon expect ssh tmux screen entr unbuffer taskset chrt prlimit setarch pkexec sg newgrp fakeroot ' +
    'xvfb-run dbus-run-session ssh-agent firejail bwrap valgrind gdb rlwrap socat ' +
    // builtins that evaluate a text, or change what a name means
    'let alias hash enable bind complete compgen fc'
  ).split(' '),
)

/**
 * The commands that a command starts, as far as its words show them: `rm x` for `env A=1 rm x`. `isOpen`: more words
 * follow, which are not known.
 */
function innerCommands(words: readonly ShellWord[], isOpen: boolean): readonly Inner[] {
  const [first, ...rest] = words
  if (first === undefined || first.openAt !== undefined) return []
  const name = basename(first.text)
  if (shells.has(name)) return shellScript(rest)
  if (others.has(name)) return unknown
  if (name === '.' || name === 'source') return scriptFile(rest[0]?.text === '--' ? rest[1] : rest[0])
  if (name === 'eval' || name === 'trap') return isOpen ? unknown : ofLine(name, rest)
  if (name === 'find') return isOpen ? unknown : ofFind(rest)
  if (name === 'test' || name === '[') return isOpen || mayTestName(rest) ? unknown : []
  if (Object.hasOwn(setters, name)) return ofSetter(rest, { names: setters[name] ?? 'all', isOpen })
  if (name === 'printf') return mayBe(rest[0], '-v') ? ofSetter(rest, { names: 'all', isOpen }) : []
  if (name === 'command' && /^-[vV]+$/.test(rest[0]?.text ?? '')) return []
  if (!Object.hasOwn(wrappers, name)) return []
  const inner = wrapped(rest, wrappers[name] ?? {})
  return inner.length === 0 && isOpen ? unknown : inner
}

/** Whether a word could start with a text, whatever its unknown part is. */
function mayBe(word: ShellWord | undefined, start: string): boolean {
  if (word === undefined) return false
  if (word.openAt === undefined) return word.text.startsWith(start)
  const known = word.text.slice(0, word.openAt)
  return word.splits === true || start.startsWith(known) || known.startsWith(start)
}

/** Builtins that set variables: all their words may be names, or only what precedes a `=`. */
const setters: { readonly [name: string]: 'all' | 'assigned' } = {
  read: 'all',
  mapfile: 'all',
  readarray: 'all',
  getopts: 'all',
  unset: 'all',
  wait: 'all',
  export: 'assigned',
  declare: 'assigned',
  typeset: 'assigned',
  local: 'assigned',
  readonly: 'assigned',
}

/** Bash evaluates the subscript of a name, even if that is in single quotes, and the value of an integer. */
function ofSetter(
  words: readonly ShellWord[],
  { names, isOpen }: { readonly names: 'all' | 'assigned'; readonly isOpen: boolean },
): readonly Inner[] {
  if (isOpen) return unknown
  const found: Inner[] = []
  for (const { text, openAt, splits } of words) {
    const [name = ''] = names === 'all' ? [text] : text.split('=')
    const isNameOpen = openAt !== undefined && (names === 'all' || openAt <= name.length)
    if (isNameOpen || splits === true || name.includes('[')) return unknown
    if (names === 'assigned' ? /^[-+]\w*[in]/.test(name) : /^-\w*C/.test(name)) return unknown
    found.push({ kind: 'variable', name: name.replace(/^-[a-z]/, '') })
  }
  return found
}

/** `test -v NAME` evaluates the subscript of the name. */
function mayTestName(words: readonly ShellWord[]): boolean {
  return words.some((word, index) => {
    const name = words[index + 1]
    const isName = name !== undefined && (name.openAt !== undefined || name.text.includes('['))
    return word.splits === true || (isName && (mayBe(word, '-v') || mayBe(word, '-R')))
  })
}

function wrapped(words: readonly ShellWord[], options: Options): readonly Inner[] {
  const { taking = '', plain, skipped = 0, hasAssignments, addsWords, startsShell } = options
  const isAssigned = ({ text, openAt, splits }: ShellWord): boolean =>
    hasAssignments === true && splits !== true && /^\w+=/.test(text.slice(0, openAt))
  // programs differ in what they take for a name
  const mayAssign = ({ text }: ShellWord): boolean => hasAssignments === true && /^(?!-)[^]*=/.test(text)
  /** What `xargs` replaces. */
  const holes: string[] = []
  let at = 0
  for (let word = words[at]; word !== undefined; at += 1, word = words[at]) {
    const { text, openAt } = word
    if (isAssigned(word)) continue
    if (openAt !== undefined || mayAssign(word)) return unknown
    if (text === '--') {
      at += 1
      break
    }
    if (plain?.test(text) === true) {
      if (addsWords === true && text.startsWith('-I')) holes.push(text.slice(2))
      continue
    }
    if (!text.startsWith('-')) break
    if (text.length !== 2 || !taking.includes(text.charAt(1))) return unknown
    at += 1
    if (words[at]?.openAt !== undefined) return unknown
    if (addsWords === true && text === '-I') holes.push(words[at]?.text ?? '')
  }
  let start = at + skipped
  if (words.slice(at, start).some(({ openAt }) => openAt !== undefined)) return unknown
  for (let word = words[start]; word !== undefined && isAssigned(word); word = words[start]) start += 1
  if (words.slice(start, start + 1).some(mayAssign)) return unknown
  const inner = words.slice(start).map((word) => holes.reduce(withHole, word))
  if (inner.length === 0) return startsShell === true && words.length > 0 ? unknown : []
  return [{ kind: 'command', words: inner, ...(addsWords === true ? { isOpen: true } : {}) }]
}

/** A word in which a text is replaced when the command runs. */
function withHole(word: ShellWord, hole: string): ShellWord {
  const at = word.text.indexOf(hole)
  return at === -1 || hole === '' ? word : { ...word, openAt: Math.min(at, word.openAt ?? at) }
}

/** For `sh -c LINE`; a shell that reads its script from stdin may do anything. */
function shellScript(words: readonly ShellWord[]): readonly Inner[] {
  let isLine = false
  let hasEnded = false
  let taken = 0
  for (const [index, word] of words.entries()) {
    const { text, openAt } = word
    if (taken > 0 && openAt === undefined) {
      taken -= 1
      continue
    }
    if (openAt !== undefined) return isLine || taken > 0 ? unknown : scriptFile(word)
    if (hasEnded || !/^[-+]/.test(text)) return isLine ? [lineOf(words.slice(index, index + 1))] : scriptFile(word)
    if (text === '-' || text === '--') hasEnded = true
    else if (text.startsWith('--')) {
      if (['--norc', '--noprofile', '--posix', '--login'].includes(text)) continue
      return text === '--version' || text === '--help' ? [] : unknown
    } else {
      if (!/^[-+][a-zA-Z]+$/.test(text) || /^-\w*s/.test(text)) return unknown
      isLine ||= /^-\w*c/.test(text)
      // each takes the name of an option from the words that follow
      taken = text.replaceAll(/[^oO]/g, '').length
    }
  }
  return unknown
}

/** A script is not read, unless it may be what comes through a pipe. */
function scriptFile(word: ShellWord | undefined): readonly Inner[] {
  if (word === undefined) return []
  const known = word.text.slice(0, word.openAt)
  if (word.openAt !== undefined && (word.splits === true || !/^[\w.]/.test(known) || known.includes('..')))
    return unknown
  return /(?:^|\/)(?:(?:dev|proc)\/|stdin$|\d+$)/.test(word.text) ? unknown : []
}

/** `eval LINE`, `trap LINE SIGNAL` */
function ofLine(name: 'eval' | 'trap', words: readonly ShellWord[]): readonly Inner[] {
  const rest = words[0]?.text === '--' ? words.slice(1) : words
  if (rest.some(({ splits }) => splits === true)) return unknown
  if (name === 'eval') return rest.length === 0 ? [] : [lineOf(rest)]
  return rest.length < 2 ? [] : [lineOf(rest.slice(0, 1))]
}

function lineOf(words: readonly ShellWord[]): Inner {
  if (words.some(({ openAt }) => openAt !== undefined)) return { kind: 'unknown' }
  return { kind: 'line', line: words.map(({ text }) => text).join(' ') }
}

function ofFind(words: readonly ShellWord[]): readonly Inner[] {
  const mayStart = (word: ShellWord): boolean => mayBe(word, '-exec') || mayBe(word, '-ok')
  if (words.some((word) => word.openAt !== undefined && mayStart(word))) return unknown
  return words.flatMap(({ text }, index): readonly Inner[] => {
    if (!['-exec', '-execdir', '-ok', '-okdir'].includes(text)) return []
    const behind = words.slice(index + 1)
    const end = behind.findIndex((word) => word.text === ';' || word.text === '+')
    const inner = (end === -1 ? behind : behind.slice(0, end)).map((word) => withHole(word, '{}'))
    return inner.length === 0 ? [] : [{ kind: 'command', words: inner }]
  })
}
