/** Flags as the command line gives them, checked and named. */
export interface GlobalFlags {
  readonly chdir: string | undefined
  readonly config: readonly string[]
  readonly envFile: string | undefined
  readonly json: boolean
  readonly level: 'quiet' | 'normal' | 'verbose'
}

export interface RunFlags extends GlobalFlags {
  /** `-` for standard input; empty with `prompt`. */
  readonly file: string
  /** `-p`: the prompt itself. */
  readonly prompt: string | undefined
  /** `--var name=value`. */
  readonly vars: readonly string[]
  /** Gets the result in place of stdout. */
  readonly output: string | undefined
  /** A file with a JSON Schema. */
  readonly outputSchema: string | undefined
  readonly inputs: readonly string[]
  readonly onFiles: readonly string[]
  readonly open: boolean
  /** Nobody is asked anything. */
  readonly noInput: boolean
  /** Run again whenever something that was read changes. */
  readonly watch: boolean
  readonly model: string | undefined
  /** US dollars, as written. */
  readonly maxCost: string | undefined
  readonly dry: 'req' | 'res' | undefined
  /** Gets the record of the run as one file. */
  readonly record?: string | undefined
}

export interface CheckFlags extends GlobalFlags {
  readonly format: 'text' | 'json' | 'github' | 'sarif'
  readonly files: readonly string[]
}

export interface ConfigFlags extends GlobalFlags {
  readonly file: string | undefined
  readonly origin: boolean
}
