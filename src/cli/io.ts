import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { safeJson } from '../base/terminal-text.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { Surroundings } from '../config/locate.ts'
import type { GlobalFlags } from './command.ts'

export type { Surroundings } from '../config/locate.ts'

/** The parts of the process that a command may use. process.ts provides the real one. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  /** Standard input. Called only by code that reads it. */
  readonly input: () => Readable
  /** What standard input is. `socket`: a pipe from the program that started this one, which may never write to it. */
  readonly inputKind: () => 'device' | 'pipe' | 'socket' | 'file' | 'none'
  /** On a terminal, these two let no control characters through but line breaks, tabs and our own colors. */
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Writes to stderr unfiltered, for cursor movements. */
  readonly draw: (text: string) => void
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  /** Size of the terminal on stderr. */
  readonly columns: () => number
  readonly rows: () => number
  /** Calls the listener when the process continues after Ctrl-Z. Returns the function that removes it. */
  readonly onContinue: (listener: () => void) => () => void
  /** Aborts on the first Ctrl-C; its reason names the signal. */
  readonly signal: AbortSignal
  /**
   * Calls `first` on every Ctrl-C before the command is stopped; if it returns true, the command is not stopped.
   * Returns the function that removes it.
   */
  readonly onInterrupt: (first: () => boolean) => () => void
  /** Does what Ctrl-C does, for terminals in raw mode, which report it as a key. */
  readonly interrupt: () => void
  /** Does what Ctrl-Z does, for terminals in raw mode. */
  readonly suspend: () => void
}

/** Whether stderr is a terminal that a user watches and that supports cursor movements. */
export function isWatched({ env, errIsTerminal }: Pick<CommandIo, 'env' | 'errIsTerminal'>): boolean {
  return errIsTerminal && !env['CI'] && env['TERM'] !== 'dumb'
}

/** Where a command works: the folder of `-C`. The environment already contains the variables of `--env`. */
export function surroundings({ chdir }: Pick<GlobalFlags, 'chdir'>, { env, home, cwd }: CommandIo): Surroundings {
  return { cwd: chdir === undefined ? cwd : resolve(cwd, chdir), env, home }
}

/** The surroundings of a command, and how it writes. */
export interface Workplace extends Surroundings {
  /** For stdout. */
  readonly paint: Paint
  /** Columns of the terminal on stdout; infinite for pipes and files. */
  readonly width: number
  /** Writes a result to stdout: as a line of JSON with `--json`, else as text. */
  readonly print: (data: object, text: () => string) => void
  /** Writes a note for people to stderr; nothing with `--json` or `--quiet`. */
  readonly note: (text: string) => void
}

export function openWorkplace(flags: GlobalFlags, io: CommandIo): Workplace {
  const around = surroundings(flags, io)
  // a copy, because every read of the process's environment is a system call
  const env = { ...around.env }
  const isForPeople = !flags.json && flags.level !== 'quiet'
  return {
    ...around,
    env,
    paint: createPaint({ env, isTerminal: io.outIsTerminal }),
    width: io.outIsTerminal ? io.columns() : Number.POSITIVE_INFINITY,
    print: (data, text) => io.out(flags.json ? jsonLine(data) : text()),
    note: (text) => {
      if (isForPeople) io.err(text)
    },
  }
}

/** One line of JSON, without control characters, so that it is safe on a terminal. */
export function jsonLine(data: object): string {
  return `${safeJson(data)}\n`
}
