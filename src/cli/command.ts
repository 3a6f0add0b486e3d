import { BatonError } from '../base/error.ts'
import type { CommandIo } from './io.ts'

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
  /** Of a switch: it may be written with a value, `--watch=prompt`, which is that of this setting. */
  readonly setting?: string
}

export type FlagSpecs = { readonly [name: string]: FlagSpec }

export interface WordSpec {
  readonly name: string
  /** `some` is one or more, `any` is none or more. */
  readonly count: 'one' | 'some' | 'optional' | 'any'
  readonly describe: string
  readonly choices?: readonly string[]
}

/** What the parser, the help and completion know about a command, besides its name. */
export interface CommandSpec {
  readonly summary: string
  /** Positional arguments in order: required ones first, then optional ones, then a repeated one. */
  readonly words: readonly WordSpec[]
  readonly flags: FlagSpecs
  /** Shown at the end of the help: command lines and what they do. */
  readonly examples?: readonly (readonly [command: string, says: string])[]
}

/** A parsed command line: flags by their names, as written. */
export interface ParsedLine {
  readonly words: readonly string[]
  readonly flags: { readonly [name: string]: string | readonly string[] | boolean | undefined }
}

export interface Command extends CommandSpec {
  readonly name: string
  /** Loads the command and runs it; returns the exit code. */
  readonly run: (line: ParsedLine, io: CommandIo) => Promise<number>
}

export const globalFlagSpecs = {
  config: { kind: 'list', short: 'c', describe: 'override a setting: key=value' },
  chdir: { kind: 'text', short: 'C', describe: 'run as if started in this folder' },
  json: { kind: 'switch', describe: 'print JSON lines instead of text' },
  env: { kind: 'text', describe: 'read environment variables from this file' },
  'env-file': { kind: 'text', hidden: true },
  verbose: { kind: 'switch', short: 'v', describe: 'show every step' },
  quiet: { kind: 'switch', short: 'q', describe: 'show errors only', conflicts: 'verbose' },
} as const satisfies FlagSpecs

export interface GlobalFlags extends Omit<FlagValues<typeof globalFlagSpecs>, 'verbose' | 'quiet'> {
  readonly level: 'quiet' | 'normal' | 'verbose'
}

/** Everything on the command line of a command: global flags, its own flags in camel case, its words by name. */
export type CommandArguments<Spec extends CommandSpec> = GlobalFlags &
  FlagValues<Spec['flags']> &
  WordValues<Spec['words'][number]>

type FlagValues<Specs extends FlagSpecs> = {
  readonly [Name in keyof Specs & string as CamelCase<Name>]: {
    readonly switch: boolean
    readonly list: readonly string[]
    readonly text: ChoiceOf<Specs[Name]> | undefined
  }[Specs[Name]['kind']]
}

type WordValues<Word extends WordSpec> = {
  readonly [One in Word as One['name']]: {
    readonly one: ChoiceOf<One>
    readonly some: readonly string[]
    readonly optional: ChoiceOf<One> | undefined
    readonly any: readonly string[]
  }[One['count']]
}

type ChoiceOf<Spec> = Spec extends { readonly choices: readonly (infer Choice extends string)[] } ? Choice : string

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** Turns a parsed line into the typed values of a command. The parser has checked their number and choices. */
export function commandArguments<Spec extends CommandSpec>(
  spec: Spec,
  { words, flags }: ParsedLine,
): CommandArguments<Spec> {
  const flagValues = Object.entries({ ...globalFlagSpecs, ...spec.flags }).map(([name, { kind }]) => {
    const value = flags[name]
    return [camelCase(name), kind === 'switch' ? value === true : kind === 'list' ? (value ?? []) : value] as const
  })
  const wordValues = spec.words.map(({ name, count }, index) => {
    return [name, count === 'some' || count === 'any' ? words.slice(index) : words[index]] as const
  })
  const { verbose, quiet, ...values } = Object.fromEntries<unknown>([...flagValues, ...wordValues])
  const level = quiet === true ? 'quiet' : verbose === true ? 'verbose' : 'normal'
  return { ...values, level } as CommandArguments<Spec>
}

function camelCase(name: string): string {
  return name.replace(/-./g, ([, letter = '']) => letter.toUpperCase())
}

/** An error in the command line. */
export function usageError(message: string, hint: string): BatonError {
  return new BatonError('USAGE', message, { hint })
}
