import yargs, { type Argv } from 'yargs'
import { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { version } from '../version.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'

/**
 * Turns the command line into one call of a command and gives its exit code. Commands are loaded when they are called.
 * @throws BatonError USAGE for flags and arguments that do not fit
 */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<number> {
  let exitCode = 0
  const done = async (code: Promise<number>): Promise<void> => {
    exitCode = await code
  }
  const program = addGlobalOptions(yargs([...args]))
    .scriptName('baton')
    .usage('Usage: baton <command> [options]\n       baton FILE [options]    the same as baton run FILE')
    .parserConfiguration({ 'greedy-arrays': false, 'boolean-negation': false, 'duplicate-arguments-array': true })
    .command(
      ['run <file>', '$0 <file>'],
      'run a prompt file or an agent',
      (command) =>
        command
          .positional('file', {
            type: 'string',
            demandOption: true,
            describe: 'prompt file (.md), or agent (.aip, .lua)',
          })
          .option('input', {
            alias: 'i',
            type: 'string',
            array: true,
            describe: 'input text; one task for each',
            requiresArg: true,
          })
          .option('on-files', {
            alias: 'f',
            type: 'string',
            array: true,
            describe: 'glob; one task for each file it matches',
            requiresArg: true,
          })
          .option('dry', {
            choices: ['req', 'res'] as const,
            describe: 'req: ask no model; res: ask, and run no Output section',
            requiresArg: true,
          })
          .option('single-shot', { alias: ['s', 'ni'], type: 'boolean', hidden: true })
          .option('model', { alias: 'm', type: 'string', describe: 'model of the main agent', requiresArg: true })
          .option('no-input', { type: 'boolean', describe: 'never ask; this version never does' })
          .example('baton run ask.md -m offline::extractive', 'answer with quotes, without a key'),
      async (flags) => {
        const { runCommand } = await import('./commands/run.ts')
        await done(
          runCommand(
            {
              ...globalFlags(flags),
              file: flags.file,
              inputs: flags.input ?? [],
              onFiles: flags['on-files'] ?? [],
              dry: once(flags, 'dry') as 'req' | 'res' | undefined,
              model: once(flags, 'model'),
            },
            io,
          ),
        )
      },
    )
    .command(
      'check <files..>',
      'parse, validate and resolve without running',
      (command) => command.positional('files', { type: 'string', array: true, demandOption: true }),
      async (flags) => {
        const { checkCommand } = await import('./commands/check.ts')
        await done(checkCommand({ ...globalFlags(flags), files: flags.files }, io))
      },
    )
    .command(
      'config [file]',
      'print the settings in force, here or for a prompt file',
      (command) =>
        command
          .positional('file', { type: 'string' })
          .option('origin', { type: 'boolean', default: false, describe: 'also print where each value comes from' }),
      async (flags) => {
        const { configCommand } = await import('./commands/config.ts')
        await done(configCommand({ ...globalFlags(flags), file: flags.file, origin: flags.origin }, io))
      },
    )
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
      throw new BatonError('USAGE', usageMessage(message ?? String(error)), { hint: usageHint(args) })
    })

  await program.parseAsync(args, {}, (_error, _argv, output) => {
    if (output !== '') io.out(`${output}\n`)
  })
  return exitCode
}

function addGlobalOptions<T>(program: Argv<T>): Argv<T> {
  return program.options({
    config: {
      alias: 'c',
      type: 'string',
      array: true,
      requiresArg: true,
      describe: 'override a setting: key=value',
      global: true,
    },
    chdir: { alias: 'C', type: 'string', requiresArg: true, describe: 'work in this folder', global: true },
    json: { type: 'boolean', describe: 'print JSON lines instead of text', global: true },
    'env-file': {
      type: 'string',
      requiresArg: true,
      describe: 'read environment variables from this file',
      global: true,
    },
    verbose: { alias: 'v', type: 'boolean', describe: 'show every step', global: true },
    quiet: { alias: 'q', type: 'boolean', describe: 'show errors only', global: true, conflicts: 'verbose' },
  }) as unknown as Argv<T>
}

function globalFlags(flags: { readonly [name: string]: unknown }): GlobalFlags {
  return {
    chdir: once(flags, 'chdir'),
    envFile: once(flags, 'env-file'),
    config: (flags['config'] as readonly string[] | undefined) ?? [],
    json: flags['json'] === true,
    level: flags['quiet'] === true ? 'quiet' : flags['verbose'] === true ? 'verbose' : 'normal',
  }
}

function once(flags: { readonly [name: string]: unknown }, name: string): string | undefined {
  const value = flags[name]
  if (value === undefined || typeof value === 'string') return value
  throw new BatonError('USAGE', `--${name} is given more than once`, { hint: 'Give it once.' })
}

function usageMessage(message: string): string {
  return (message.split('\n')[0] ?? message).replace(
    /^Not enough non-option arguments.*/,
    'name a file to run, or a command',
  )
}

const commands = ['run', 'check', 'config']

function usageHint(args: readonly string[]): string {
  const command = args.find((arg) => commands.includes(arg))
  if (command !== undefined) return `See baton ${command} --help.`
  const meant = nearest(args[0] ?? '', commands)
  return meant === undefined ? 'See baton --help.' : `Did you mean baton ${meant}? See baton --help.`
}
