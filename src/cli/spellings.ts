import { nearest } from '../base/suggest.ts'
import type { Command, FlagSpecs } from './command.ts'

/**
 * Starts a word or a value that yargs would not take as it is. Arguments of a process cannot contain it.
 */
const mark = '\0'

export interface SpellingOptions {
  /** The flags that the command line may contain. */
  readonly flags: FlagSpecs
  /** All commands. */
  readonly commands: readonly Pick<Command, 'name' | 'flags'>[]
}

/**
 * Turns a command line into one that yargs reads as POSIX and the documentation say: a value may be attached to a short flag
 * (`-Csub`, `-c.d=1`), be empty, contain quotes, or begin with `-` if it contains a space or a line break, which no flag
 * does (a prompt may start with `---` or with a list); a switch takes no value from the next argument; `-` and all after `--` are words;
 * `--watch=prompt` is a switch and a setting. What is no flag of the command stays as it is, so that yargs reports it. Words and values may
 * be marked: `unmarked` returns them.
 */
export function plainSpelling(args: readonly string[], { flags, commands }: SpellingOptions): readonly string[] {
  const plain: string[] = []
  let lacksValue = false
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    if (arg === '--') return [...plain, ...(lacksValue ? [arg] : args.slice(index + 1).map((word) => mark + word))]
    const { switches, name, value } = readFlag(arg, flags)
    const given = value ?? valueIn(args[index + 1])
    lacksValue = name !== undefined && given === undefined
    const setting = settingOf(arg, commands)
    if (setting !== undefined) plain.push(...setting)
    else if (name === undefined || given === undefined) plain.push(isWordForYargs(arg) ? arg : mark + arg)
    else {
      // yargs removes quotes from a value of a list, and ignores an empty one
      plain.push(...switches, `--${name}=${flags[name]?.kind === 'list' ? mark : ''}${given}`)
      if (value === undefined) index += 1
    }
  }
  return plain
}

/** A word or value as it was given. */
export function unmarked(text: string): string {
  return text.startsWith(mark) ? text.slice(mark.length) : text
}

/** A message of yargs without marks, which it may contain as JSON. */
export function withoutMarks(message: string): string {
  return message.replaceAll(mark, '').replaceAll('\\u0000', '')
}

interface GivenFlag {
  /** Short switches in the same argument, before the flag. */
  readonly switches: readonly string[]
  /** Of a flag that takes a value. */
  readonly name?: string
  /** If it is in the same argument. */
  readonly value?: string
}

function readFlag(arg: string, flags: FlagSpecs): GivenFlag {
  const [, long = '', value] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
  const kind = Object.hasOwn(flags, long) ? flags[long]?.kind : 'switch'
  if (kind !== 'switch') return { switches: [], name: long, ...(value !== undefined && { value }) }
  return /^-[^-]/.test(arg) ? readShort(arg.slice(1), flags) : { switches: [] }
}

/** `vCsub` is the switch `-v` and the flag `-C` with the value `sub`; `modle` rather is `--modle`, which yargs reports. */
function readShort(letters: string, flags: FlagSpecs): GivenFlag {
  const named = Array.from(letters, (letter) => Object.keys(flags).find((name) => flags[name]?.short === letter))
  const at = named.findIndex((name) => name === undefined || flags[name]?.kind !== 'switch')
  const name = named[at]
  if (name === undefined) return { switches: [] }
  const value = letters.slice(at + 1)
  if (value !== '' && nearest(letters, Object.keys(flags)) !== undefined) return { switches: [] }
  return { switches: at === 0 ? [] : [`-${letters.slice(0, at)}`], name, ...(value !== '' && { value }) }
}

/** The argument after a flag, if it can be its value. */
function valueIn(next: string | undefined): string | undefined {
  return next !== undefined && (!/^-./s.test(next) || /^-[^=]*\s/.test(next)) ? next : undefined
}

/** `--watch=prompt` as the switch and the setting that it stands for. */
function settingOf(arg: string, commands: SpellingOptions['commands']): readonly string[] | undefined {
  const [, name = '', value = ''] = /^--([\w-]+)=(.*)$/s.exec(arg) ?? []
  const setting = commands.find(({ flags }) => flags[name]?.setting)?.flags[name]?.setting
  if (setting === undefined || value === 'true' || value === 'false') return undefined
  return [`--${name}`, `--config=${mark}${setting}=${JSON.stringify(value)}`]
}

/** Whether yargs takes an argument that is no flag for a word: it gives `true` to a switch before it. */
function isWordForYargs(arg: string): boolean {
  return !['-', 'true', 'false'].includes(arg)
}
