import type { Dirent } from 'node:fs'
import { join, resolve } from 'node:path'
import { entriesIn, isFolder } from '../../base/entries.ts'
import { type Command, type FlagSpec, globalFlagSpecs, type ParsedLine, type WordSpec } from '../command.ts'
import type { CommandName, Flags } from '../command-specs.ts'
import { commandTable, defaultCommand } from '../command-table.ts'
import type { CommandIo } from '../io.ts'

type Shell = Flags<'completion'>['shell']

/** `baton completion SHELL`: prints the stub, which calls `baton __complete` for each completion. */
export async function completionCommand(
  { shell }: Pick<Flags<'completion'>, 'shell'>,
  { out }: Pick<CommandIo, 'out'>,
): Promise<number> {
  out(stubs[shell])
  return 0
}

/**
 * What the shells source. They call the `baton` on PATH (`./baton` may be any file of the folder) with the line up to the
 * cursor as one argument, and take its lines as they are: nothing that a name contains is split, expanded or run.
 */
const stubs: { readonly [shell in Shell]: string } = {
  bash: `# Completion of baton for bash. In ~/.bashrc: source <(baton completion bash)
# baton prints the folder of the files that fit, or an empty line, then what fits; none of it is evaluated.
_baton() {
  local line folder=''
  COMPREPLY=()
  {
    IFS= read -r folder
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <(command baton __complete bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  if [[ -n $folder ]]; then compopt -o filenames 2>/dev/null; fi
  return 0
}
complete -F _baton baton
`,
  zsh: `#compdef baton
# Completion of baton for zsh. In ~/.zshrc, after compinit: source <(baton completion zsh)
# baton prints the folder of the files that fit, or an empty line, then what fits; none of it is evaluated.
_baton() {
  local line
  local -a lines names shown files
  lines=("\${(@f)$(command baton __complete zsh -- "\${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null </dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    if [[ $line == *$'\\t'* ]]; then names+=("\${line%%$'\\t'*}") shown+=("\${line#*$'\\t'}"); else files+=("$line"); fi
  done
  compset -P '--[^=]#='
  compadd -J names -d shown -a names
  compset -P '*/'
  compadd -J files -f -W "$lines[1]" -a files
  (( compstate[nmatches] > 0 ))
}
if [[ $funcstack[1] == _baton ]]; then _baton "$@"; else compdef _baton baton; fi
`,
  fish: `# Completion of baton for fish. In ~/.config/fish/config.fish: baton completion fish | source
function __baton_complete
    command baton __complete fish -- (commandline -cp | string collect) 2>/dev/null </dev/null
end
complete -c baton -f -a '(__baton_complete)'
`,
}

/**
 * `baton __complete SHELL -- LINE [BREAKS]`: prints what may stand at the end of the line, one a line. `BREAKS` are the
 * characters at which bash divides a word. A name that cannot be listed is left out, and an error is not reported.
 */
export async function completeCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const [shell, , text = '', breaks = ''] = args
  const line = readLine(text, breaks)
  const wanted = wantedAt(line)
  const loaded = (await wanted.load?.(io)) ?? []
  const found: Found = {
    line,
    lead: wanted.lead ?? '',
    names: [...(wanted.names ?? []), ...loaded.map((name) => ({ text: name, says: '' }))],
    ...filesOf(wanted, line.last, io),
  }
  const print = shell === 'bash' ? linesForBash : shell === 'zsh' ? linesForZsh : linesForFish
  for (const one of print(found)) io.out(`${one}\n`)
  return 0
}

/** What may be filled in. */
interface Name {
  readonly text: string
  /** A description, or empty. */
  readonly says: string
}

interface Found extends Files {
  readonly line: TypedLine
  /** The start of the word that no name contains: `--mode=`. */
  readonly lead: string
  readonly names: readonly Name[]
}

/** bash replaces only a part of the word, and itself quotes what it inserts. */
function linesForBash({ line, lead, names, folder, path, files }: Found): readonly string[] {
  const all = [...names.map(({ text }) => lead + text), ...files.map(({ name }) => lead + path + name)]
  const exact = all.filter((one) => one.startsWith(line.last))
  // as readline can be set to do
  const typed = line.last.toLowerCase()
  const fitting = exact.length > 0 ? exact : all.filter((one) => one.toLowerCase().startsWith(typed))
  return [folder, ...[...new Set(fitting)].map((one) => one.slice(line.kept))]
}

/** zsh itself selects by its own rules, and quotes. A name has a text that is shown for it, a file has none. */
function linesForZsh({ names, folder, files }: Found): readonly string[] {
  const column = Math.max(0, ...names.map(({ text, says }) => (says === '' ? 0 : text.length)))
  const shown = ({ text, says }: Name): string => (says === '' ? text : `${text.padEnd(column)}  -- ${says}`)
  return [folder, ...names.map((name) => `${name.text}\t${shown(name)}`), ...files.map(({ name }) => name)]
}

/** fish itself selects and quotes. */
function linesForFish({ lead, names, path, files }: Found): readonly string[] {
  return [
    ...names.map(({ text, says }) => `${lead}${text}\t${says}`),
    ...files.map(({ name, isFolder: isOpen }) => `${lead}${path}${name}${isOpen ? '/' : ''}`),
  ]
}

/** A command line up to the cursor, without the quotes. */
interface TypedLine {
  readonly words: readonly string[]
  /** The word at the cursor, which may be empty. */
  readonly last: string
  /** How many characters of it bash does not replace: those before an open quote or a character that divides words. */
  readonly kept: number
}

/** Divides a line as shells do, without expanding anything. */
function readLine(text: string, breaks: string): TypedLine {
  const words: string[] = []
  let last: string | undefined
  let kept = 0
  let quote = ''
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index)
    if (quote === '' && /\s/.test(char)) {
      if (last !== undefined) words.push(last)
      last = undefined
      kept = 0
      continue
    }
    last ??= ''
    if (char === quote) quote = ''
    else if (quote === '' && (char === '"' || char === "'")) {
      quote = char
      kept = last.length
    } else if (char === '\\' && (quote === '' || (quote === '"' && /["$\\`]/.test(text.charAt(index + 1))))) {
      last += text.charAt(index + 1)
      index += 1
    } else {
      last += char
      // an @ belongs to what is replaced
      if (quote === '' && breaks.includes(char)) kept = char === '@' ? last.length - 1 : last.length
    }
  }
  return { words, last: last ?? '', kept }
}

/** What may stand at a place of a line. */
interface Wanted {
  readonly lead?: string
  readonly names?: readonly Name[]
  /** Names that have to be looked up. */
  readonly load?: (io: CommandIo) => Promise<readonly string[]>
  /** `targets`: files that can be run, and folders. */
  readonly files?: 'targets' | 'all' | 'folders'
}

/** Where the last word of a line stands. */
interface Place {
  /** Undefined until a word names a command or a file. */
  readonly command: Command | undefined
  /** The words after the command. */
  readonly given: readonly string[]
  /** The flag whose value is typed, as it is spelled. */
  readonly flag: string | undefined
}

function wantedAt({ words, last }: TypedLine): Wanted {
  const { command, given, flag } = placeAfter(words.slice(1))
  const [lead, name = flag] = flag === undefined ? (/^(--[^=]+)=/.exec(last) ?? ['']) : ['']
  const { name: current, words: specs } = command ?? defaultCommand
  if (name !== undefined) {
    const found = flagsOf(command ?? defaultCommand).find(({ spellings }) => spellings.includes(name))
    return found === undefined || found.kind === 'switch'
      ? {}
      : { lead, ...valuesOf(current, found, { last: last.slice(lead.length), given }) }
  }
  if (last.startsWith('-')) return { names: flagNames(command, words) }
  if (command === undefined) {
    const commands = commandTable.map((one) => ({ text: one.name, says: one.summary }))
    return { ...targetsFor(last), names: commands }
  }
  const repeated = specs.find(({ count }) => count === 'some' || count === 'any')
  const spec = specs[given.length] ?? repeated
  if (spec === undefined) return {}
  return valuesOf(current, spec, { last, given })
}

function placeAfter(words: readonly string[]): Place {
  const given: string[] = []
  let command: Command | undefined
  let flag: string | undefined
  for (const word of words) {
    if (flag !== undefined) flag = undefined
    else if (/^-./.test(word)) flag = takesValue(word, command) ? word : undefined
    else if (command !== undefined) given.push(word)
    else {
      command = commandTable.find(({ name }) => name === word)
      if (command === undefined) given.push(word)
      command ??= defaultCommand
    }
  }
  return { command, given, flag }
}

interface NamedFlag extends FlagSpec {
  readonly name: string
  /** `--model`, `-m`. */
  readonly spellings: readonly string[]
}

const help = { kind: 'switch', short: 'h', describe: 'show help' } as const

function flagsOf({ flags }: Pick<Command, 'flags'>): readonly NamedFlag[] {
  return Object.entries<FlagSpec>({ ...flags, ...globalFlagSpecs, help }).map(([name, spec]) => ({
    ...spec,
    name,
    spellings: [`--${name}`, ...(spec.short === undefined ? [] : [`-${spec.short}`])],
  }))
}

/** Before the command is known, its flags are those of any command. */
function takesValue(spelling: string, command: Command | undefined): boolean {
  const commands = command === undefined ? commandTable : [command]
  return commands.some((one) =>
    flagsOf(one).some(({ kind, spellings }) => kind !== 'switch' && spellings.includes(spelling)),
  )
}

/** Flags that are not hidden, and that may be given again. */
function flagNames(command: Command | undefined, words: readonly string[]): readonly Name[] {
  const typed = words.map((word) => word.replace(/=.*$/s, ''))
  const version = { text: '--version', says: 'print the version' }
  return [
    ...flagsOf(command ?? defaultCommand)
      .filter(({ hidden, kind, spellings }) => {
        return hidden !== true && (kind === 'list' || !spellings.some((spelling) => typed.includes(spelling)))
      })
      .map(({ name, short, describe = '' }) => ({
        text: `--${name}`,
        says: short === undefined ? describe : `${describe} (-${short})`,
      })),
    ...(command === undefined ? [version] : []),
  ]
}

/** A file that can be run, or an agent, whose name is not a path. */
function targetsFor(word: string): Wanted {
  return /^(?:\.{0,2}\/|~)/.test(word)
    ? { files: 'targets' }
    : { files: 'targets', load: printed('list', { flags: { names: true } }) }
}

/** The values of a flag or a word of a command, by its name. `last` is its start, `given` are the words before it. */
function valuesOf(
  command: string,
  { name, choices }: Pick<WordSpec, 'name' | 'choices'>,
  { last, given }: Pick<TypedLine, 'last'> & Pick<Place, 'given'>,
): Wanted {
  if (choices !== undefined) return { names: plain(choices) }
  switch (name) {
    case 'file':
    case 'files':
      return targetsFor(last)
    case 'folder':
    case 'chdir':
      return { files: 'folders' }
    case 'env':
    case 'output':
    case 'output-schema':
    case 'record':
    case 'report':
    case 'junit':
    case 'replay':
      return { files: 'all' }
    case 'run':
      return command === 'approve' || command === 'reject'
        ? { load: printed('runs', { flags: { waiting: true, ids: true } }) }
        : { names: plain(['last']), load: printed('runs', { flags: { ids: true } }) }
    case 'call':
      return { load: printed('approve', { words: given.slice(0, 1), flags: { ids: true } }) }
    case 'mode':
      return { load: printed('list', { words: ['modes'], flags: { names: true } }) }
    case 'model':
      return { load: modelNames }
    case 'permission':
      return { load: toolNames }
    case 'from':
      return command === 'new' ? { load: pipelines } : {}
    case 'command':
      return { names: plain(commandTable.map((one) => one.name)) }
    case 'word':
      return command === 'models'
        ? { load: modelNames }
        : { names: plain(['tools', 'modes', 'commands']), load: toolNames }
    case 'words':
      return command === 'mcp' ? { load: printed('mcp', { words: ['list'], flags: { names: true } }) } : {}
    default:
      return {}
  }
}

function plain(texts: readonly string[]): readonly Name[] {
  return texts.map((text) => ({ text, says: '' }))
}

/** Only names that need no provider before them. */
const modelNames = printed('models', { flags: { names: true } })

async function toolNames(): Promise<readonly string[]> {
  const { listTeamTools, listTools } = await import('../../authoring/tools.ts')
  return [...listTools(), ...listTeamTools()].map(({ name }) => name)
}

async function pipelines(): Promise<readonly string[]> {
  const { pipelineNames } = await import('../../authoring/starters.ts')
  const { packageRoot } = await import('../../package-root.ts')
  return pipelineNames(join(packageRoot(), 'pipelines'))
}

/** The names that a command prints. Those that a shell would have to quote, or that look like flags, are left out. */
function printed(name: CommandName, { words = [], flags }: Partial<ParsedLine>): NonNullable<Wanted['load']> {
  return async (io) => {
    let text = ''
    const ignore = (): void => undefined
    const quiet: CommandIo = {
      ...io,
      out: (part) => void (text += part),
      err: ignore,
      draw: ignore,
      inputKind: () => 'none',
    }
    try {
      await commandTable.find((command) => command.name === name)?.run({ words, flags: flags ?? {} }, quiet)
    } catch {
      // the other names are still offered
    }
    return text.split('\n').filter((line) => /^[\p{L}\p{N}_@./][\p{L}\p{N}_@./+-]*$/u.test(line))
  }
}

interface Files {
  /** Absolute, and with a slash at its end; empty if there are no files. */
  readonly folder: string
  /** The folder as it is typed: `docs/`. */
  readonly path: string
  /** What it contains. */
  readonly files: readonly { readonly name: string; readonly isFolder: boolean }[]
}

/** Hidden files are listed if their dot is typed. Names that no line can hold or that look like flags are left out. */
function filesOf({ files: kind, lead = '' }: Wanted, word: string, { cwd, home }: CommandIo): Files {
  const value = word.slice(lead.length)
  const path = value.slice(0, value.lastIndexOf('/') + 1)
  const folder = resolve(
    cwd,
    path.replace(/^~(?=\/)/, () => home),
  ).replace(/\/*$/, '/')
  const showsHidden = value.slice(path.length).startsWith('.')
  const files = (kind === undefined ? [] : entriesIn(folder))
    .filter(({ name }) => showsHidden || !name.startsWith('.'))
    .filter(({ name }) => !/[\p{Cc}\uFFFD]/u.test(folder + name) && !(path === '' && /^[-~]/.test(name)))
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() || leadsToFolder(entry, folder) }))
    .filter(({ name, isFolder }) => {
      return isFolder || kind === 'all' || (kind === 'targets' && /\.(?:md|aip|lua)$/.test(name))
    })
  return { folder: files.length === 0 ? '' : folder, path, files }
}

function leadsToFolder(entry: Dirent, folder: string): boolean {
  try {
    return entry.isSymbolicLink() && isFolder(join(folder, entry.name))
  } catch {
    // a loop of links
    return false
  }
}
