import { commandTable } from './command-table.ts'
import { globalFlagSpecs } from './specs/spec.ts'

/**
 * Joins a flag and a value that begins with `-`, so that no parser takes the value for a flag: a prompt may begin with
 * `---` or with a list. Only a value with a space or a line break in it, which no flag has, and only before `--`.
 */
export function joinValues(args: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    if (arg === '--') return [...joined, ...args.slice(index)]
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

/** The name of the flag that an argument is, when it takes a value: `-p` and `--prompt` are `prompt`. */
function flagWithValue(arg: string): string | undefined {
  const tables = [globalFlagSpecs, ...commandTable.map(({ flags }) => flags)]
  const specs = tables.flatMap((flags) => Object.entries(flags))
  const found = specs.find(([name, { short }]) => arg === `--${name}` || (short !== undefined && arg === `-${short}`))
  return found === undefined || found[1].kind === 'switch' ? undefined : found[0]
}
