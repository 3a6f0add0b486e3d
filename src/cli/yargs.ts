import yargs, { type Argv, type Options } from 'yargs'
import { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { version } from '../version.ts'
import { commandTable } from './command-table.ts'
import type { CommandIo } from './io.ts'
import { type CommandSpec, type FlagSpec, type FlagValues, globalFlagSpecs, type WordSpec } from './specs/spec.ts'

/**
 * Help, mistakes, and whatever spelling `parseQuickly` does not take.
 * @throws BatonError USAGE for flags and arguments that do not fit
 */
export async function runWithYargs(args: readonly string[], io: CommandIo): Promise<number> {
  let exitCode = 0
  const program = yargs([...args])
    .scriptName('baton')
    .usage('Usage: baton <command> [options]\n       baton FILE [options]    the same as baton run FILE')
    .parserConfiguration({ 'greedy-arrays': false, 'boolean-negation': false, 'duplicate-arguments-array': true })
    .options(yargsOptions(globalFlagSpecs, { global: true }))
  for (const command of commandTable) {
    addCommand(program, command, async (flags) => {
      exitCode = await command.run({ words: wordsOf(flags, command), flags: checked(flags, command) }, io)
    })
  }
  program
    .example('baton run ask.md -m offline::extractive', 'answer with quotes, without a key')
    .demandCommand(1, 'name a file to run, or a command')
    .strict()
    .version(version)
    .alias({ help: 'h' })
    .exitProcess(false)
    .wrap(Math.min(100, io.columns()))
    .epilogue('Exit codes: 0 done, 1 the work failed, 2 bad input, 3 key, 4 limit, 6 untrusted, 130 Ctrl-C.')
    .fail((message, error) => {
      // yargs throws its own errors for flags without their argument; all others come from the command
      if (error && error.name !== 'YError') throw error
      throw new BatonError('USAGE', usageMessage(message ?? String(error), args), { hint: usageHint(args) })
    })

  await program.parseAsync(args, {}, (_error, _argv, output) => {
    if (output !== '') io.out(`${output}\n`)
  })
  return exitCode
}

type YargsFlags = { readonly [name: string]: unknown }

function addCommand(
  program: Argv,
  { name, summary, words, flags, examples = [] }: CommandSpec,
  run: (flags: YargsFlags) => Promise<void>,
): void {
  const shape = [name, ...words.map(wordShape)].join(' ')
  const isDefault = name === commandTable[0]?.name
  program.command(
    isDefault ? [shape, ['$0', ...words.map(wordShape)].join(' ')] : shape,
    summary,
    (command) =>
      words
        .reduce<Argv>((soFar, { name: word, describe, count, choices }) => {
          const several = { array: count === 'some' || count === 'any', ...(choices === undefined ? {} : { choices }) }
          return soFar.positional(word, { type: 'string', describe, ...several })
        }, command)
        .options(yargsOptions(flags, { global: false }))
        .example(examples.map(([line, says]) => [line, says])),
    run,
  )
}

function wordShape({ name, count }: WordSpec): string {
  return { one: `<${name}>`, some: `<${name}..>`, optional: `[${name}]`, any: `[${name}..]` }[count]
}

function yargsOptions(
  specs: { readonly [name: string]: FlagSpec },
  { global }: { readonly global: boolean },
): { [name: string]: Options } {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { kind, short, describe, choices, hidden, conflicts }]): [string, Options] => [
      name,
      {
        global,
        type: kind === 'switch' ? 'boolean' : 'string',
        ...(kind === 'switch' ? {} : { requiresArg: true }),
        ...(kind === 'list' ? { array: true } : {}),
        ...(short === undefined ? {} : { alias: short }),
        ...(describe === undefined ? {} : { describe }),
        ...(choices === undefined ? {} : { choices }),
        ...(hidden === undefined ? {} : { hidden }),
        ...(conflicts === undefined ? {} : { conflicts }),
      },
    ]),
  )
}

function wordsOf(flags: YargsFlags, { words }: CommandSpec): readonly string[] {
  return words.flatMap(({ name }) => {
    const given = flags[name]
    if (Array.isArray(given)) return given.map(String)
    return typeof given === 'string' ? [given] : []
  })
}

/** The flags of the command; one that takes a single value may be given once. */
function checked(flags: YargsFlags, command: CommandSpec): FlagValues {
  const specs = { ...globalFlagSpecs, ...command.flags }
  for (const [name, { kind }] of Object.entries(specs)) {
    if (kind === 'text' && Array.isArray(flags[name])) {
      throw new BatonError('USAGE', `--${name} is given more than once`, { hint: 'Give it once.' })
    }
  }
  return Object.fromEntries(Object.keys(specs).map((name) => [name, flags[name] as FlagValues[string]]))
}

function usageMessage(message: string, args: readonly string[]): string {
  const lines = message.split('\n').map((line) => line.trim())
  const command = commandTable.find(({ name }) => name === args[0])
  const missing =
    command === undefined
      ? 'name a file to run, or a command'
      : `something is missing: baton ${[command.name, ...command.words.map(wordShape)].join(' ')}`
  return lines
    .filter((line) => line !== '')
    .join(' ')
    .replace(/^Not enough non-option arguments.*/, () => missing)
}

function usageHint(args: readonly string[]): string {
  const command = commandTable.find(({ name }) => args.includes(name))
  const help = command === undefined ? 'See baton --help.' : `See baton ${command.name} --help.`
  const [flag] = args.flatMap((arg) => meantFlag(arg, command ?? commandTable[0]))
  if (flag !== undefined) return `Did you mean --${flag}? ${help}`
  if (command !== undefined) return help
  const meant = nearest(
    args[0] ?? '',
    commandTable.map(({ name }) => name),
  )
  return meant === undefined ? help : `Did you mean baton ${meant}? ${help}`
}

/** The flag of a command that was probably meant by an argument that is none of its flags. */
function meantFlag(arg: string, command: CommandSpec | undefined): readonly string[] {
  const name = /^--([^=]+)/.exec(arg)?.[1]
  const names = ['help', 'version', ...Object.keys({ ...globalFlagSpecs, ...command?.flags })]
  if (name === undefined || names.includes(name)) return []
  const meant = nearest(name, names)
  return meant === undefined ? [] : [meant]
}
