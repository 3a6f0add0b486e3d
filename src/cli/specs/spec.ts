import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

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

export interface WordSpec {
  readonly name: string
  /** `some` is one or more, `any` is none or more. */
  readonly count: 'one' | 'some' | 'optional' | 'any'
  readonly describe: string
  readonly choices?: readonly string[]
}

/** One command as data: what the parser, the help and the completion know of it. Loads nothing before it runs. */
export interface CommandSpec {
  readonly name: string
  readonly summary: string
  /** What it takes besides flags, in order; behind one that may be left out comes none that must be given. */
  readonly words: readonly WordSpec[]
  readonly flags: { readonly [name: string]: FlagSpec }
  /** Shown at the end of the help: command lines and what they do. */
  readonly examples?: readonly (readonly [command: string, says: string])[]
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

export function globalFlags(flags: FlagValues): GlobalFlags {
  return {
    chdir: textFlag(flags['chdir']),
    envFile: textFlag(flags['env-file']),
    config: listFlag(flags['config']),
    json: flags['json'] === true,
    level: flags['quiet'] === true ? 'quiet' : flags['verbose'] === true ? 'verbose' : 'normal',
  }
}

export function textFlag(value: FlagValues[string]): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function listFlag(value: FlagValues[string]): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : []
}
