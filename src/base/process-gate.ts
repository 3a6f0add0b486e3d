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

/** What a gate reads from stdin before it starts the program; stdin ends without it if this process is gone. */
export const gateWord = '\n'

/**
 * A gated program: a shell that waits for a word on stdin and then becomes the program, in the same process, and exits
 * if this process is gone. So a process can be recorded before it does anything. Undefined: start it directly, because
 * there is no such shell, or because the start will fail and only the direct start reports why.
 */
export function gatedProgram(
  program: Program & { readonly readsInput?: true },
): Pick<Program, 'command' | 'args'> | undefined {
  const { command, args } = program
  if (platform() === 'win32' || command.startsWith('-') || !canBeStarted(program)) return undefined
  // shells read stdin byte by byte if it is not a file: everything after the word is left for the program
  const script = `read -r _ || exit 125; exec "$@"${program.readsInput === true ? '' : ' </dev/null'}`
  return { command: '/bin/sh', args: ['-c', script, 'sh', command, ...args] }
}

/** Whether the program and folder exist, looked up as the system does. */
export function canBeStarted({ command, cwd, environment }: Omit<Program, 'args'>): boolean {
  if (!isFolder(cwd)) return false
  if (command.includes('/')) return isProgram(resolve(cwd, command))
  const { PATH = '/usr/local/bin:/bin:/usr/bin' } = environment
  return PATH.split(delimiter).some((folder) => isProgram(resolve(cwd, folder, command)))
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
