import type { Readable } from 'node:stream'

/** What a command may touch of the process. main.ts gives the real one. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  /** Standard input; asked for only by what reads it. */
  readonly input: () => Readable
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  /** Size of the terminal that stderr is. */
  readonly columns: () => number
  readonly rows: () => number
  /** Tells when the process goes on after a stop (Ctrl-Z). Returns the function that ends the telling. */
  readonly onContinue: (listener: () => void) => () => void
  /** Aborts with the first Ctrl-C; its reason says which signal it was. */
  readonly signal: AbortSignal
  /** Asks `first` about every Ctrl-C that would begin to stop the command; true: it is dealt with. Returns the end of that. */
  readonly onInterrupt: (first: () => boolean) => () => void
  /** Does what Ctrl-C does, where a terminal gives keys as they are. */
  readonly interrupt: () => void
  /** Does what Ctrl-Z does, there. */
  readonly suspend: () => void
}
