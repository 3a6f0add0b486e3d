import { extname } from 'node:path'
import yargs, { type Argv, type Options } from 'yargs'
import { exitCodesText } from '../event/exit-code.ts'
import { nearest } from '../base/suggest.ts'
import { version } from '../version.ts'
import { commandTable, defaultCommand } from './command-table.ts'
import { type Command, type FlagSpecs, globalFlagSpecs, type ParsedLine, usageError, type WordSpec } from './command.ts'
import { aipackHint, suggestedCommand } from './command-suggestion.ts'
import type { CommandIo } from './io.ts'
import { plainSpelling, unmarked, withoutMarks } from './spellings.ts'

/** What a command line asks for: a command, or only a text, such as help. */
export type ParsedCall =
  | { readonly kind: 'command'; readonly command: Command; readonly line: ParsedLine }
  | { readonly kind: 'text'; readonly text: string }

/**
 * Reads a command line.
 * @throws BatonError USAGE for invalid flags and arguments
 */
export function parseLine(args: readonly string[], { columns }: Pick<CommandIo, 'columns'>): ParsedCall {
  const named = commandTable.find(({ name }) => name === args[0]) ?? defaultCommand
  const plain = plainSpelling(args, { flags: { ...globalFlagSpecs, ...named.flags }, commands: commandTable })
  const asksForHelp = plain.some((arg) => /^(?:--help|-\w*h|help$)/.test(arg))
  // only help shows the others
  const commands = asksForHelp
    ? commandTable
    : commandTable.filter(({ name }) => name === defaultCommand.name || plain.includes(name))
  let call: ParsedCall | undefined
  const program = programOf(commands, (command, given) => {
    call = { kind: 'command', command, line: lineOf(given, command) }
  })
  program.fail((message, error) => {
    // yargs throws its own errors for flags without their argument
    if (error && error.name !== 'YError') throw error
    const said = withoutMarks(message ?? String(error))
    throw usageError(usageMessage(said, args), usageHint(args, said))
  })
  if (asksForHelp) describeProgram(program, columns())
  program.parseSync(plain, {}, (_error, _argv, text) => {
    if (text !== '') call = { kind: 'text', text }
  })
  if (call === undefined) throw new Error('yargs has called no command')
  return call
}

/** `onCommand` is called for the command of a valid line. */
function programOf(
  commands: readonly Command[],
  onCommand: (command: Command, given: { readonly [name: string]: unknown }) => void,
): Argv {
  const program = yargs()
    .scriptName('baton')
    .locale('en')
    .parserConfiguration({
      'camel-case-expansion': false,
      'greedy-arrays': false,
      'boolean-negation': false,
      'duplicate-arguments-array': true,
    })
    .options(yargsOptions(globalFlagSpecs, { global: true }))
  for (const command of commands) {
    const { summary, words, flags, examples = [] } = command
    program.command(
      command.name === defaultCommand.name ? [shapeOf(command), shapeOf({ name: '$0', words })] : shapeOf(command),
      summary,
      (builder) => {
        for (const { name, count, ...word } of words) {
          builder.positional(name, { ...word, type: 'string', array: count === 'some' || count === 'any' })
        }
        return builder
          .options(yargsOptions(flags, { global: false }))
          .example(examples.map(([line, says]) => [line, says]))
      },
      (given) => onCommand(command, given),
    )
  }
  return program.strict().version(version).alias({ help: 'h' }).exitProcess(false)
}

/** What only help shows. */
function describeProgram(program: Argv, columns: number): void {
  program
    .usage('Usage: baton <command> [options]\n       baton FILE [options]    the same as baton run FILE')
    .example('baton run ask.md -m offline::extractive', 'answer with quotes from your files, without an API key')
    .wrap(Math.min(100, columns))
    .epilogue(`Exit codes: ${exitCodesText('all')}.`)
}

const nothingNamed = 'name a file to run, or a command'

/** `check <files..>`. */
function shapeOf({ name, words }: Pick<Command, 'name' | 'words'>): string {
  const shape = (word: WordSpec): string =>
    ({ one: `<${word.name}>`, some: `<${word.name}..>`, optional: `[${word.name}]`, any: `[${word.name}..]` })[
      word.count
    ]
  return [name, ...words.map(shape)].join(' ')
}

function yargsOptions(specs: FlagSpecs, { global }: { readonly global: boolean }): { [name: string]: Options } {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { kind, short, ...shared }]): [string, Options] => {
      const type = kind === 'switch' ? 'boolean' : 'string'
      const alias = short === undefined ? {} : { alias: short }
      return [name, { ...shared, ...alias, global, type, requiresArg: kind !== 'switch', array: kind === 'list' }]
    }),
  )
}

/** @throws BatonError USAGE for a flag with one value that is given more than once */
function lineOf(given: { readonly [name: string]: unknown }, { words, flags }: Command): ParsedLine {
  const specs = Object.entries<FlagSpecs[string]>({ ...globalFlagSpecs, ...flags })
  const repeated = specs.find(([name, { kind }]) => kind === 'text' && Array.isArray(given[name]))
  if (repeated !== undefined) throw usageError(`--${repeated[0]} is given more than once`, 'Give it once.')
  const textsOf = (name: string): readonly string[] =>
    [given[name] ?? []].flat().flatMap((value) => (typeof value === 'string' ? unmarked(value) : []))
  const valueOf = (name: string, { kind }: FlagSpecs[string]): ParsedLine['flags'][string] => {
    if (kind === 'switch') return [given[name]].flat().at(-1) === true
    return kind === 'list' ? textsOf(name) : textsOf(name)[0]
  }
  return {
    words: words.flatMap(({ name }) => textsOf(name)),
    flags: Object.fromEntries(specs.map(([name, spec]) => [name, valueOf(name, spec)])),
  }
}

const choiceMessage = /^Invalid values: Argument: (\S+), Given: (.+), Choices: (.+)$/

function usageMessage(message: string, args: readonly string[]): string {
  const command = commandTable.find(({ name }) => name === args[0])
  const missing = command === undefined ? nothingNamed : `missing argument: baton ${shapeOf(command)}`
  const written = (name: string): string => asWritten(name, args)
  return oneLine(message)
    .replace(/^Not enough non-option arguments.*/, () => missing)
    .replace(/^Not enough arguments following: (.+)/, (_, name: string) => {
      const { choices = [] } = flagOf(name, command) ?? {}
      return `${written(name)} needs a value${choices.length === 0 ? '' : `: ${alternatives(choices)}`}`
    })
    .replace(choiceMessage, (_, name: string, given: string, choices: string) => {
      return `${written(name)} must be ${alternatives(JSON.parse(`[${choices}]`) as readonly string[])}, not ${given}`
    })
    .replace(/^Arguments (\S+) and (\S+) are/, (_, one: string, other: string) => `--${one} and --${other} are`)
    .replace(/^Unknown (?:arguments?|commands?): (.+)/, (_, names: string) =>
      unknownText(names.split(', ').map(written)),
    )
}

function flagOf(name: string, command: Command = defaultCommand): FlagSpecs[string] | undefined {
  const specs: FlagSpecs = { ...globalFlagSpecs, ...command.flags }
  return specs[name] ?? Object.values(specs).find(({ short }) => short === name)
}

/** `a, b or c`. */
function alternatives(words: readonly string[]): string {
  return words.join(', ').replace(/, (?=[^,]*$)/, ' or ')
}

function oneLine(message: string): string {
  const lines = message.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** Turns a name from the parser into its spelling on the command line: `--dry-run`, `-z`, `-modle`, `notes.txt`. */
function asWritten(name: string, args: readonly string[]): string {
  const isIt = (arg: string): boolean =>
    arg === name || arg.split('=')[0] === `--${name}` || (name.length === 1 && /^-[^-]/.test(arg) && arg.includes(name))
  return args.find(isIt)?.replace(/^(--?[^=]+)=.*$/s, '$1') ?? name
}

function unknownText(names: readonly string[]): string {
  const all = [...new Set(names)]
  const flags = all.filter((name) => name.startsWith('-'))
  const [what, shown] = flags.length > 0 ? ['unknown flag', flags] : ['unexpected argument', all]
  return `${what}${shown.length === 1 ? '' : 's'} ${shown.join(', ')}`
}

function usageHint(args: readonly string[], message: string): string {
  // an action or a value may have the name of another command
  const first = args.find((arg) => commandTable.some(({ name }) => name === arg))
  const command = commandTable.find(({ name }) => name === first)
  const help = command === undefined ? 'See baton --help.' : `See baton ${command.name} --help.`
  const meant = suggestedWord(args, { command, message })
  if (meant !== undefined) return `Did you mean ${meant}? ${help}`
  if (!usageMessage(message, args).startsWith('unexpected argument')) return help
  const isRun = command === undefined || command.name === defaultCommand.name
  return isRun ? `${adviceOnWords(args)} ${help}` : help
}

/** What a word that a run does not take was probably meant as. */
function adviceOnWords(args: readonly string[]): string {
  const [first = ''] = args
  const ofAipack = aipackHint(first)
  if (ofAipack !== undefined) return ofAipack
  for (const [index, arg] of args.entries()) {
    const [value = '', next = ''] = args.slice(index + 1)
    if (['-w', '--watch'].includes(arg) && ['all', 'prompt'].includes(value)) return `Write --watch=${value}.`
    const isFollowed = next !== '' && !next.startsWith('-')
    if (!isFollowed) continue
    if (['-f', '--on-files'].includes(arg))
      return `-f takes one glob: quote it so that the shell leaves it alone, -f '*${extname(value)}', or repeat -f for each file.`
    if (['--var', '-c', '--config'].includes(arg) && (next.startsWith('=') || value.endsWith('='))) {
      return `Write name=value after ${arg}, without spaces.`
    }
  }
  return 'Pass input text with -i, or a prompt without a file with -p.'
}

interface Mistake {
  /** Undefined if the line names none. */
  readonly command: Command | undefined
  readonly message: string
}

/** The command, flag or choice that a word of the command line may have meant, as you would type it. */
function suggestedWord(args: readonly string[], { command, message }: Mistake): string | undefined {
  const meant = command === undefined ? suggestedCommand(args[0] ?? '') : undefined
  if (meant !== undefined) return `baton ${meant}`
  const [, , given, choices] = choiceMessage.exec(oneLine(message)) ?? []
  // yargs prints both as JSON
  if (given !== undefined) return nearest(JSON.parse(given) as string, JSON.parse(`[${choices}]`) as readonly string[])
  const flags = ['help', 'version', ...Object.keys({ ...globalFlagSpecs, ...(command ?? defaultCommand).flags })]
  const unknown = args.flatMap((arg) => /^--?([^-=][^=]+)/.exec(arg)?.[1] ?? []).filter((name) => !flags.includes(name))
  const flag = unknown.flatMap((name) => nearest(name, flags) ?? []).at(0)
  return flag === undefined ? undefined : `--${flag}`
}
