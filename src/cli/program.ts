import type { CommandIo } from './io.ts'
import { joinValues } from './join-values.ts'
import { parseQuickly } from './quick-parse.ts'

/**
 * Turns the command line into one call of a command and gives its exit code. Commands are loaded when they are called.
 * @throws BatonError USAGE for flags and arguments that do not fit
 */
export async function runProgram(given: readonly string[], io: CommandIo): Promise<number> {
  const args = joinValues(given)
  const call = parseQuickly(args)
  if (call !== undefined) return call.command.run(call, io)
  const { runWithYargs } = await import('./yargs.ts')
  return runWithYargs(args, io)
}
