import type { CommandIo } from './io.ts'
import { usageError } from './command.ts'

/*
 * Shared by the commands that listen on a local port.
 */

/** `--port`. @throws BatonError USAGE for a value that is not a port */
export function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d{1,5}$/.test(given) && Number(given) < 65_536) return Number(given)
  throw usageError(`--port takes a number from 0 to 65535, not "${given}"`, 'Use 0 for a free port.')
}

/** A secret from an environment variable. @throws BatonError USAGE for one that could be guessed */
export function secretOf(variable: string, given: string): string {
  if (given.length >= 16) return given
  throw usageError(`${variable} has fewer than 16 characters`, 'Leave it unset to get a generated secret.')
}

/** Resolves when the command should end. */
export async function untilStopped({ signal }: Pick<CommandIo, 'signal'>): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
