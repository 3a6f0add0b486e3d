/** What a command may touch of the process. main.ts gives the real one. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  readonly columns: () => number
  /** Aborts with the first Ctrl-C; its reason says which signal it was. */
  readonly signal: AbortSignal
}
