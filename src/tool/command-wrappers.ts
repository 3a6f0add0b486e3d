import { basename } from 'node:path'
import type { ShellWord } from './command-cursor.ts'

/** What a command starts. */
export type Inner =
  /** Another command; `isOpen`: more words follow these. */
  | { readonly kind: 'command'; readonly words: readonly ShellWord[]; readonly isOpen?: true }
  /** A line for a shell. */
  | { readonly kind: 'line'; readonly line: string }
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
}

const wrappers: { readonly [name: string]: Options } = {
  env: { taking: 'uC', plain: /^(?:-|-[i0v]+|--ignore-environment|--unset=.*|--chdir=.*)$/, hasAssignments: true },
  sudo: { taking: 'ughpCTrtDR', plain: /^-[AbEeHiKkNnPSs]+$/, hasAssignments: true },
  doas: { taking: 'uC', plain: /^-[nsL]+$/ },
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
  ['parallel', 'watch', 'su', 'script', 'flock', 'busybox', 'strace', 'ltrace', 'chroot', 'unshare', 'nsenter'].concat([
    'systemd-run',
    'setpriv',
    'runuser',
    'start-stop-daemon',
    'expect',
    'ssh',
    'tmux',
    'screen',
    'entr',
    'unbuffer',
  ]),
)

/** The commands that a command starts, as far as its words show them: `rm x` for `env A=1 rm x`. */
export function innerCommands(words: readonly ShellWord[]): readonly Inner[] {
  const [first, ...rest] = words
  if (first === undefined || first.openAt !== undefined) return []
  const name = basename(first.text)
  if (shells.has(name)) return shellScript(rest)
  if (others.has(name)) return unknown
  if (name === 'eval') return rest.length === 0 ? [] : [lineOf(rest)]
  if (name === 'trap') return rest.length < 2 ? [] : [lineOf(rest.slice(0, 1))]
  if (name === 'find') return ofFind(rest)
  if (name === 'command' && /^-[vV]+$/.test(rest[0]?.text ?? '')) return []
  return Object.hasOwn(wrappers, name) ? wrapped(rest, wrappers[name] ?? {}) : []
}

function wrapped(words: readonly ShellWord[], options: Options): readonly Inner[] {
  const { taking = '', plain, skipped = 0, hasAssignments, addsWords } = options
  let at = 0
  for (; at < words.length; at += 1) {
    const { text, openAt } = words[at] ?? { text: '' }
    if (openAt !== undefined) return hasAssignments === true && /^\w+=/.test(text.slice(0, openAt)) ? skip() : unknown
    if (text === '--') {
      at += 1
      break
    }
    if (plain?.test(text) === true || (hasAssignments === true && /^\w+=/.test(text))) continue
    if (!text.startsWith('-')) break
    if (text.length !== 2 || !taking.includes(text.charAt(1))) return unknown
    at += 1
  }
  return skip()

  function skip(): readonly Inner[] {
    let start = at + skipped
    while (hasAssignments === true && /^\w+=/.test(words[start]?.text ?? '')) start += 1
    const inner = words.slice(start)
    if (inner.length === 0) return []
    return [{ kind: 'command', words: inner, ...(addsWords === true ? { isOpen: true } : {}) }]
  }
}

/** For `sh -c LINE`; a shell that reads its script from stdin may do anything. */
function shellScript(words: readonly ShellWord[]): readonly Inner[] {
  let isLine = false
  for (const [index, word] of words.entries()) {
    const { text, openAt } = word
    if (openAt !== undefined) return isLine || openAt === 0 ? unknown : []
    if (/^[-+]o$/.test(text) || text === '-O' || /^-[a-z]*s[a-z]*$/.test(text)) return unknown
    if (text.startsWith('--') && text !== '--') {
      if (['--norc', '--noprofile', '--posix', '--login'].includes(text)) continue
      return text === '--version' || text === '--help' ? [] : unknown
    }
    if (/^[-+]/.test(text)) {
      isLine ||= /^-[a-zA-Z]*c/.test(text)
      continue
    }
    return isLine ? [lineOf(words.slice(index, index + 1))] : []
  }
  return unknown
}

function lineOf(words: readonly ShellWord[]): Inner {
  if (words.some(({ openAt }) => openAt !== undefined)) return { kind: 'unknown' }
  return { kind: 'line', line: words.map(({ text }) => text).join(' ') }
}

function ofFind(words: readonly ShellWord[]): readonly Inner[] {
  if (words.some(({ openAt, raw }) => openAt === 0 && /^[$`]/.test(raw))) return unknown
  return words.flatMap(({ text }, index): readonly Inner[] => {
    if (!['-exec', '-execdir', '-ok', '-okdir'].includes(text)) return []
    const behind = words.slice(index + 1)
    const end = behind.findIndex((word) => word.text === ';' || word.text === '+')
    const inner = (end === -1 ? behind : behind.slice(0, end)).map((word): ShellWord => {
      const hole = word.text.indexOf('{}')
      return hole === -1 ? word : { ...word, openAt: Math.min(hole, word.openAt ?? hole) }
    })
    return inner.length === 0 ? [] : [{ kind: 'command', words: inner }]
  })
}
