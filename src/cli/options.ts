/** Flags as the command line gives them, checked and named. */
export interface GlobalFlags {
  readonly chdir: string | undefined
  readonly config: readonly string[]
  readonly envFile: string | undefined
  readonly json: boolean
  readonly level: 'quiet' | 'normal' | 'verbose'
}

export interface RunFlags extends GlobalFlags {
  readonly file: string
  readonly inputs: readonly string[]
  readonly onFiles: readonly string[]
  readonly open: boolean
  readonly model: string | undefined
  /** US dollars, as written. */
  readonly maxCost: string | undefined
  readonly dry: 'req' | 'res' | undefined
}

export interface CheckFlags extends GlobalFlags {
  readonly files: readonly string[]
}

export interface ConfigFlags extends GlobalFlags {
  readonly file: string | undefined
  readonly origin: boolean
}
