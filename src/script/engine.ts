/**
 * A Lua value on the JavaScript side. `undefined` is nil, `null` is the null sentinel (a light userdata in Lua).
 * Integers stay integers: a safe integer is a number, a larger one a bigint. Text that is not UTF-8 is a Uint8Array.
 * Tables are deep copies: an array when the table is a list, otherwise an object.
 */
export type LuaValue =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly LuaValue[]
  | { readonly [key: string]: LuaValue }

/** Source text with the name that error positions and tracebacks show, for example `agents/lint.aip`. */
export interface LuaChunk {
  readonly name: string
  readonly text: string
}

/**
 * How table arguments are read. `border`, as at section boundaries: a raw length > 0 means a list, whose string keys
 * are dropped; `{}` is an object. `data`: a table with exactly the keys 1..n is a list, any other an object with all
 * keys as text; `{}` is a list.
 */
export type TableReading = 'border' | 'data'

/**
 * A JavaScript function that Lua can call. If it returns a promise, the Lua code waits; if it throws, Lua gets an
 * error.
 */
export interface HostFunction {
  /** Path from the globals, for example `aip.file.load`; missing tables on the path are created. */
  readonly path: string
  readonly tables: TableReading
  readonly call: (args: readonly LuaValue[]) => readonly LuaValue[] | Promise<readonly LuaValue[]>
}

export interface LuaLimits {
  /** Wall-clock time of Lua code itself in milliseconds; time spent waiting in host functions does not count. */
  readonly timeMs: number
  /** Virtual machine instructions, counted in thousands of steps. */
  readonly instructions: number
  /** Bytes one state may use. */
  readonly memoryBytes: number
}

export interface LuaStateOptions {
  readonly functions: readonly HostFunction[]
  /** Lua parts of host modules, run in order in the real globals after `functions` are in place. */
  readonly modules: readonly LuaChunk[]
  readonly limits: LuaLimits
  /** Seed of `math.random`, requested at its first use. */
  readonly seed: () => number
}

export interface LuaEngine {
  readonly name: 'lua54' | 'fengari'
  /** A fresh state that shares nothing with earlier ones. */
  createState(options: LuaStateOptions): LuaState
}

export interface LuaState {
  /**
   * Runs a chunk and returns its values. `variables` are visible to the chunk alone: it gets a private environment
   * that is a copy of the globals plus the variables. Rejects with `LuaError`, or with the signal's reason when aborted.
   */
  run(
    chunk: LuaChunk,
    variables: { readonly [name: string]: LuaValue },
    signal: AbortSignal,
  ): Promise<readonly LuaValue[]>
  close(): void
}

export interface LuaErrorDetails {
  readonly chunk?: string | undefined
  readonly line?: number | undefined
  readonly traceback?: string | undefined
  /** The limit that ended the script; such an error cannot be caught by `pcall`. */
  readonly limit?: 'time' | 'instructions' | 'memory' | undefined
  /** The host function's own error, if that was the cause. */
  readonly cause?: unknown
}

/** A syntax or runtime error in Lua code. `message` has no position prefix; `chunk` and `line` carry the position. */
export class LuaError extends Error {
  override readonly name = 'LuaError'
  readonly chunk: string | undefined
  readonly line: number | undefined
  readonly traceback: string | undefined
  readonly limit: LuaErrorDetails['limit']

  constructor(message: string, { chunk, line, traceback, limit, cause }: LuaErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.chunk = chunk
    this.line = line
    this.traceback = traceback
    this.limit = limit
  }
}

/** The limit that a host function's error reports as reached by the script. */
export function limitOf(error: unknown): LuaErrorDetails['limit'] {
  return error instanceof LuaError ? error.limit : undefined
}

export function closedError(): LuaError {
  return new LuaError('the Lua state was closed')
}

/** The error message for a script that was ended by a limit. */
export function limitMessage(limit: LuaErrorDetails['limit'], limits: LuaLimits): string {
  switch (limit) {
    case 'time':
      return `the script ran longer than ${limits.timeMs} ms`
    case 'instructions':
      return `the script ran more than ${limits.instructions} thousand instructions`
    case 'memory':
      return `the script needs more than ${limits.memoryBytes} bytes of memory`
    case undefined:
      return 'the script was stopped'
  }
}
