import type { Json } from '../../base/json.ts'

/** A program written by a model or a script. */
export interface Program {
  /** JavaScript or TypeScript; one Markdown fence around it is removed. */
  readonly code: string
  /**
   * `global`: the value is that of its last expression; `module`: its exports; `auto` (default): whichever its text
   * needs, with `await` and `return` allowed at top level.
   */
  readonly evalType?: 'auto' | 'global' | 'module'
  /** Its variable `input`; default: null. */
  readonly input?: Json
}

/** A function that a program may call. */
export interface BoxFunction {
  /** The name the program calls it by, if it is an identifier. Must be unique. */
  readonly name: string
  /**
   * Its key in `tools["…"]`, which `parallel` accepts as well as `name`; default: `name`, if that is not an identifier.
   */
  readonly id?: string
  /** False: the program does not wait for an answer, and gets undefined. */
  readonly waits: boolean
}

export interface BoxCall {
  readonly name: string
  /** The number of earlier calls that the program waits for. */
  readonly index: number
  readonly args: readonly Json[]
}

/**
 * `now`: what the program's clock shows from then on. For a call that the program does not wait for, the answer is
 * ignored.
 */
export type BoxAnswer = ({ readonly value: Json } | { readonly error: string }) & { readonly now?: number }

export interface ProgramHost {
  readonly functions: readonly BoxFunction[]
  /**
   * Called in the order in which the program issues calls. All calls of `parallel([…])` arrive before the first of them
   * has ended. A rejection stops the program once the calls issued together have ended; `run` rejects with it.
   */
  readonly call: (call: BoxCall) => Promise<BoxAnswer>
}

export interface ProgramLimits {
  /** The program's own time; time spent in its calls does not count. */
  readonly timeMs: number
  readonly memoryMb: number
  readonly stackKb: number
  /** Characters of its value as JSON, and of all arguments together of calls that it does not wait for. */
  readonly outputChars: number
  /** Characters of all arguments together of calls that it waits for: a host may keep them. */
  readonly argumentChars: number
  /** Function calls. */
  readonly calls: number
}

export const defaultLimits: ProgramLimits = {
  timeMs: 30_000,
  memoryMb: 64,
  stackKb: 512,
  outputChars: 1_000_000,
  argumentChars: 20_000_000,
  calls: 10_000,
}

export type LimitName = 'time' | 'memory' | 'stack' | 'output' | 'arguments' | 'calls'

export interface ProgramError {
  readonly kind: 'error'
  readonly message: string
  /** Position in the program without its fence, counted from 1. */
  readonly line?: number
  readonly column?: number
  readonly limit?: LimitName
}

/** How a program ended. The value is plain JSON: undefined becomes null, and values that JSON lacks are described. */
export type ProgramEnd = { readonly kind: 'value'; readonly value: Json } | ProgramError

export function limitError(limit: LimitName, limits: ProgramLimits): ProgramError {
  return { kind: 'error', message: limitText(limit, limits), limit }
}

function limitText(
  limit: LimitName,
  { timeMs, memoryMb, stackKb, outputChars, argumentChars, calls }: ProgramLimits,
): string {
  switch (limit) {
    case 'time':
      return `the program took longer than ${timeMs} ms of its own time`
    case 'memory':
      return `the program needs more than ${memoryMb} MB of memory`
    case 'stack':
      return `the program recurses or nests too deeply (${stackKb} KB of stack)`
    case 'output':
      return `the program outputs more than ${outputChars} characters`
    case 'arguments':
      return `the program passes more than ${argumentChars} characters to the functions it calls`
    case 'calls':
      return `the program makes more than ${calls} calls`
  }
}
