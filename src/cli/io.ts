import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { safeJson } from '../base/terminal-text.ts'
import { createPaint, type Paint } from '../render/style.ts'
import type { Surroundings } from '../config/locate.ts'
import type { GlobalFlags } from './command.ts'

export type { Surroundings } from '../config/locate.ts'

/** What a command may touch of the process. process.ts gives the real one. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  /** Standard input; called only by what reads it. */
  readonly input: () => Readable
  /** What standard input is. `socket`: a pipe of a program that started this one, which need not have anything to say. */
  readonly inputKind: () => 'device' | 'pipe' | 'socket' | 'file' | 'none'
  /** What reaches a terminal by these two has no control characters but line breaks, tabs and our own colours. */
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Writes to stderr as it is: for what moves the cursor. */
  readonly draw: (text: string) => void
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  /** Size of the terminal that stderr is. */
  readonly columns: () => number
  readonly rows: () => number
  /** Calls the listener when the process continues after a stop (Ctrl-Z). Returns the function that removes it. */
  readonly onContinue: (listener: () => void) => () => void
  /** Aborts with the first Ctrl-C; its reason says which signal it was. */
  readonly signal: AbortSignal
  /**
   * Calls `first` for every Ctrl-C before it stops the command; when it returns true, the command is not stopped. Returns
   * the function that removes it.
   */
  readonly onInterrupt: (first: () => boolean) => () => void
  /** Does what Ctrl-C does, for raw terminals, where it is a key like others. */
  readonly interrupt: () => void
  /** Does what Ctrl-Z does, for raw terminals. */
  readonly suspend: () => void
}

/** Whether a person looks at stderr, and it can be drawn on. */
export function isWatched({ env, errIsTerminal }: Pick<CommandIo, 'env' | 'errIsTerminal'>): boolean {
  return errIsTerminal && !env['CI'] && env['TERM'] !== 'dumb'
}

/** Where a command works: the folder after `-C`. The environment has the variables of `--env` already. */
export function surroundings({ chdir }: Pick<GlobalFlags, 'chdir'>, { env, home, cwd }: CommandIo): Surroundings {
  return { cwd: chdir === undefined ? cwd : resolve(cwd, chdir), env, home }
}

/** A command at work: its surroundings, and how it writes. */
export interface Workplace extends Surroundings {
  /** For stdout. */
  readonly paint: Paint
  /** Columns of the terminal that stdout is; infinite for pipes and files. */
  readonly width: number
  /** Writes one result to stdout: as a line of JSON with `--json`, else as text. */
  readonly print: (data: object, text: () => string) => void
  /** Writes to stderr what only people need: nothing with `--json` or `--quiet`. */
  readonly note: (text: string) => void
}

export function openWorkplace(flags: GlobalFlags, io: CommandIo): Workplace {
  const around = surroundings(flags, io)
  // every read of the process's environment is a system call
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

/** One line of JSON lines; safe for terminals wherever it goes. */
export function jsonLine(data: object): string {
  return `${safeJson(data)}\n`
}
