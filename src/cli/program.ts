import { parseArgs } from 'node:util'
import { type Command, type FlagSpec, type FlagSpecs, globalFlagSpecs, type ParsedLine } from './command.ts'
import { commandTable, defaultCommand } from './command-table.ts'
import { runLine } from './env-flag.ts'
import type { CommandIo } from './io.ts'

/**
 * Runs the command that the command line names and returns its exit code. Commands are loaded when they run.
 * @throws BatonError USAGE for invalid flags and arguments
 */
export async function runProgram(given: readonly string[], io: CommandIo): Promise<number> {
  if (given[0] === '__complete') {
    const { completeCommand } = await import('./commands/completion.ts')
    return completeCommand(given.slice(1), io)
  }
  // the process of a run of `baton serve`: src/serve/workers/pool.ts starts it
  if (given[0] === '__worker') return (await import('../serve/workers/worker.ts')).work(io)
  const args = joinValues(given)
  const call = parseQuickly(args)
  if (call !== undefined) return runLine(call.command, call, io)
  const { runWithYargs } = await import('./yargs.ts')
  return runWithYargs(args, io)
}

/**
 * Joins a flag and a value that starts with `-`, so that no parser takes the value for a flag: a prompt may start with
 * `---` or with a list. Only if the value contains a space or a line break, which no flag does, and only before `--`.
 */
export function joinValues(args: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    if (arg === '--') return [...joined, ...args.slice(index)]
    const setting = settingOf(arg)
    if (setting !== undefined) {
      joined.push(...setting)
      continue
    }
    const value = args[index + 1]
    const name = value !== undefined && /^-[^=]*\s/.test(value) ? flagWithValue(arg) : undefined
    if (name === undefined) joined.push(arg)
    else {
      joined.push(`--${name}=${value}`)
      index += 1
    }
  }
  return joined
}

/** `--watch=prompt` as the switch and the setting that it stands for. */
function settingOf(arg: string): readonly string[] | undefined {
  const [, name = '', value = ''] = /^--([\w-]+)=(.*)$/s.exec(arg) ?? []
  const setting = (commandTable as readonly Command[]).find(({ flags }) => flags[name]?.setting)?.flags[name]?.setting
  if (setting === undefined || value === 'true' || value === 'false') return undefined
  return [`--${name}`, `--config=${setting}=${JSON.stringify(value)}`]
}

/** The name of the flag, if the argument is a flag that takes a value: `-p` and `--prompt` are `prompt`. */
function flagWithValue(arg: string): string | undefined {
  const tables: readonly FlagSpecs[] = [globalFlagSpecs, ...commandTable.map(({ flags }) => flags)]
  const specs = tables.flatMap((flags) => Object.entries(flags))
  const found = specs.find(([name, { short }]) => arg === `--${name}` || (short !== undefined && arg === `-${short}`))
  return found === undefined || found[1].kind === 'switch' ? undefined : found[0]
}

export interface ParsedCall extends ParsedLine {
  readonly command: Command
}

/**
 * Parses a valid command line without yargs, which takes longer to load than a whole script run. Undefined for
 * everything else (help, mistakes, unusual spellings), which yargs handles.
 */
export function parseQuickly(args: readonly string[]): ParsedCall | undefined {
  const [first = ''] = args
  const named = commandTable.find(({ name }) => name === first)
  const command = named ?? defaultCommand
  const line = parseLine(named === undefined ? args : args.slice(1), { ...globalFlagSpecs, ...command.flags })
  return line !== undefined && fits(line.words, command) ? { command, ...line } : undefined
}

function parseLine(args: readonly string[], specs: FlagSpecs): ParsedLine | undefined {
  const options = Object.entries(specs).map(([name, { kind, short }]) => {
    const type = kind === 'switch' ? ('boolean' as const) : ('string' as const)
    return [name, { type, multiple: kind === 'list', ...(short === undefined ? {} : { short }) }] as const
  })
  try {
    const { positionals, tokens, values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(options),
      allowPositionals: true,
      strict: true,
      tokens: true,
    })
    // lists contain only strings, because no switch is a list
    const flags = values as ParsedLine['flags']
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const isPlain = given.every((name, index) => {
      const { kind, conflicts, choices } = specs[name] as FlagSpec
      const isRepeated = kind === 'text' && given.indexOf(name) !== index
      const isConflicting = conflicts !== undefined && flags[conflicts] !== undefined
      return !isRepeated && !isConflicting && (choices?.includes(String(flags[name])) ?? true)
    })
    return isPlain ? { words: positionals, flags } : undefined
  } catch {
    return undefined
  }
}

function fits(given: readonly string[], { words }: Command): boolean {
  const least = words.filter(({ count }) => count === 'one' || count === 'some').length
  const most = words.some(({ count }) => count === 'some' || count === 'any') ? Infinity : words.length
  const isKnown = given.every((word, index) => words[index]?.choices?.includes(word) ?? true)
  return given.length >= least && given.length <= most && isKnown
}
