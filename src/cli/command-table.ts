import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'

/** A flag: `text` takes one value, `list` takes one value each time it is given, `switch` takes none. */
export interface FlagSpec {
  readonly kind: 'text' | 'list' | 'switch'
  readonly describe?: string
  /** One letter. */
  readonly short?: string
  readonly choices?: readonly string[]
  /** Accepted, but not shown in the help. */
  readonly hidden?: true
  readonly conflicts?: string
}

export type FlagValues = { readonly [name: string]: string | readonly string[] | boolean | undefined }

export interface CommandSpec {
  readonly name: string
  readonly summary: string
  /** How many words it takes besides flags. */
  readonly words: { readonly name: string; readonly count: 'one' | 'some' | 'optional'; readonly describe: string }
  readonly flags: { readonly [name: string]: FlagSpec }
  /** Loads the command and runs it; gives the exit code. */
  readonly run: (
    call: { readonly words: readonly string[]; readonly flags: FlagValues },
    io: CommandIo,
  ) => Promise<number>
}

export const globalFlagSpecs: { readonly [name: string]: FlagSpec } = {
  config: { kind: 'list', short: 'c', describe: 'override a setting: key=value' },
  chdir: { kind: 'text', short: 'C', describe: 'work in this folder' },
  json: { kind: 'switch', describe: 'print JSON lines instead of text' },
  'env-file': { kind: 'text', describe: 'read environment variables from this file' },
  verbose: { kind: 'switch', short: 'v', describe: 'show every step' },
  quiet: { kind: 'switch', short: 'q', describe: 'show errors only', conflicts: 'verbose' },
}

/** Every command of `baton`. The first is meant when none is named. */
export const commandTable: readonly CommandSpec[] = [
  {
    name: 'run',
    summary: 'run a prompt file or an agent',
    words: { name: 'file', count: 'one', describe: 'prompt file (.md), agent (.aip, .lua), or ns@pack/agent' },
    flags: {
      input: { kind: 'list', short: 'i', describe: 'input text; one task for each' },
      'on-files': { kind: 'list', short: 'f', describe: 'glob; one task for each file it matches' },
      model: { kind: 'text', short: 'm', describe: 'model of the main agent' },
      dry: {
        kind: 'text',
        choices: ['req', 'res'],
        describe: 'req: ask no model; res: ask, and run no Output section',
      },
      'max-cost': { kind: 'text', describe: 'stop before the run costs more than this many US dollars' },
      'no-input': { kind: 'switch', describe: 'never ask; this version never does' },
      'single-shot': { kind: 'switch', short: 's', hidden: true },
      open: { kind: 'switch', short: 'o', hidden: true, describe: 'open the file in the editor, then run' },
    },
    async run({ words, flags }, io) {
      const { runCommand } = await import('./commands/run.ts')
      return runCommand(
        {
          ...globalFlags(flags),
          file: words[0] ?? '',
          inputs: list(flags['input']),
          onFiles: list(flags['on-files']),
          model: text(flags['model']),
          maxCost: text(flags['max-cost']),
          open: flags['open'] === true,
          dry: text(flags['dry']) as 'req' | 'res' | undefined,
        },
        io,
      )
    },
  },
  {
    name: 'check',
    summary: 'parse, validate and resolve without running',
    words: { name: 'files', count: 'some', describe: 'prompt files and agents' },
    flags: {},
    async run({ words, flags }, io) {
      const { checkCommand } = await import('./commands/check.ts')
      return checkCommand({ ...globalFlags(flags), files: words }, io)
    },
  },
  {
    name: 'config',
    summary: 'print the settings in force, here or for a prompt file',
    words: { name: 'file', count: 'optional', describe: 'prompt file' },
    flags: { origin: { kind: 'switch', describe: 'also print where each value comes from' } },
    async run({ words, flags }, io) {
      const { configCommand } = await import('./commands/config.ts')
      return configCommand({ ...globalFlags(flags), file: words[0], origin: flags['origin'] === true }, io)
    },
  },
]

function globalFlags(flags: FlagValues): GlobalFlags {
  return {
    chdir: text(flags['chdir']),
    envFile: text(flags['env-file']),
    config: list(flags['config']),
    json: flags['json'] === true,
    level: flags['quiet'] === true ? 'quiet' : flags['verbose'] === true ? 'verbose' : 'normal',
  }
}

function text(value: FlagValues[string]): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function list(value: FlagValues[string]): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : []
}
