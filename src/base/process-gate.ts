import { statSync } from 'node:fs'
import { platform } from 'node:os'
import { delimiter, resolve } from 'node:path'
import { isProgram } from './program.ts'

export interface Program {
  /** A path, or a name that is looked up in `PATH`. */
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/** What a gate waits for on its input; the input ends without it when this process is gone. */
export const gateWord = '\n'

/**
 * The program behind a gate: a shell that becomes it, in the same process, when it is told to, and ends when nobody is left who
 * could. So a process can be noted before it does anything. Undefined: it is to be started as it
 * is, because there is no such shell, or because the start will fail and only then says why.
 */
export function behindGate(
  program: Program & { readonly readsInput?: true },
): Pick<Program, 'command' | 'args'> | undefined {
  const { command, args } = program
  if (platform() === 'win32' || command.startsWith('-') || !canBeStarted(program)) return undefined
  // shells take single bytes of what is no file: what follows the word is left to the program
  const script = `read -r _ || exit 125; exec "$@"${program.readsInput === true ? '' : ' </dev/null'}`
  return { command: '/bin/sh', args: ['-c', script, 'sh', command, ...args] }
}

/** Whether there is such a program and folder, as the system looks for them. */
export function canBeStarted({ command, cwd, environment }: Omit<Program, 'args'>): boolean {
  if (!isFolder(cwd)) return false
  if (command.includes('/')) return isProgram(resolve(cwd, command))
  const { PATH = '/usr/local/bin:/bin:/usr/bin' } = environment
  return PATH.split(delimiter).some((folder) => isProgram(resolve(cwd, folder, command)))
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
