import { parseArgs, type ParseArgsConfig } from 'node:util'
import { commandTable } from './command-table.ts'
import { type CommandSpec, type FlagSpec, type FlagValues, globalFlagSpecs } from './specs/spec.ts'

export interface ParsedCall {
  readonly command: CommandSpec
  readonly words: readonly string[]
  readonly flags: FlagValues
}

/**
 * Parses a command line that is right, without loading yargs, which costs more than a whole script run. Undefined for
 * everything else (help, mistakes, unusual spellings): yargs then says what is to be said.
 */
export function parseQuickly(args: readonly string[]): ParsedCall | undefined {
  const [first = ''] = args
  const named = commandTable.find(({ name }) => name === first)
  const command = named ?? commandTable[0]
  if (command === undefined) return undefined
  const specs = { ...globalFlagSpecs, ...command.flags }
  const parsed = tryParse(named === undefined ? args : args.slice(1), specs)
  if (parsed === undefined || !fits(parsed.positionals, command)) return undefined
  return { command, words: parsed.positionals, flags: parsed.values }
}

function tryParse(
  args: readonly string[],
  specs: { readonly [name: string]: FlagSpec },
): { readonly positionals: readonly string[]; readonly values: FlagValues } | undefined {
  try {
    const { positionals, tokens, ...parsed } = parseArgs({
      args: [...args],
      options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, optionOf(spec)])),
      allowPositionals: true,
      strict: true,
      tokens: true,
    })
    // lists hold texts only: no switch is a list
    const values = parsed.values as FlagValues
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const isPlain = given.every((name, index) =>
      isAllowed(name, { specs, values, isRepeated: given.indexOf(name) !== index }),
    )
    return isPlain ? { positionals, values } : undefined
  } catch {
    return undefined
  }
}

function optionOf({ kind, short }: FlagSpec): NonNullable<ParseArgsConfig['options']>[string] {
  const type = kind === 'switch' ? 'boolean' : 'string'
  return { type, ...(kind === 'list' ? { multiple: true } : {}), ...(short === undefined ? {} : { short }) }
}

interface Given {
  readonly specs: { readonly [name: string]: FlagSpec }
  readonly values: FlagValues
  readonly isRepeated: boolean
}

function isAllowed(name: string, { specs, values, isRepeated }: Given): boolean {
  const spec = specs[name]
  if (spec === undefined || (isRepeated && spec.kind === 'text')) return false
  if (spec.conflicts !== undefined && values[spec.conflicts] !== undefined) return false
  return spec.choices === undefined || spec.choices.includes(String(values[name]))
}

function fits(given: readonly string[], { words }: CommandSpec): boolean {
  const least = words.filter(({ count }) => count === 'one' || count === 'some').length
  const most = words.some(({ count }) => count === 'some' || count === 'any') ? Infinity : words.length
  const isKnown = given.every((word, index) => words[index]?.choices?.includes(word) ?? true)
  return given.length >= least && given.length <= most && isKnown
}
