import type { Json } from '../../base/json.ts'

/** A program that a model, or a script, has written. */
export interface Program {
  /** JavaScript or TypeScript; one Markdown fence around it is taken off. */
  readonly code: string
  /**
   * `global`: its value is that of its last expression; `module`: what it exports; `auto`, when left out: as its text needs,
   * with `await` and `return` at top level as well.
   */
  readonly evalType?: 'auto' | 'global' | 'module'
  /** Its variable `input`; null when left out. */
  readonly input?: Json
}

/** A function that a program may call. */
export interface BoxFunction {
  /** As the program calls it, when that is an identifier. Each has its own. */
  readonly name: string
  /** As it is in `tools["…"]`, and known to `parallel` beside `name`; left out: `name`, when that is no identifier. */
  readonly id?: string
  /** False: the program does not wait for an answer, and gets undefined. */
  readonly waits: boolean
}

export interface BoxCall {
  /** That of the function. */
  readonly name: string
  /** How many calls that wait were issued before. */
  readonly index: number
  readonly args: readonly Json[]
}

/** `now`: what the clock of the program shows from then on. A call that is not waited for has no use for its answer. */
export type BoxAnswer = ({ readonly value: Json } | { readonly error: string }) & { readonly now?: number }

export interface ProgramHost {
  readonly functions: readonly BoxFunction[]
  /**
   * In the order in which the program issues calls. Those of `parallel([…])` come before the first of them has ended. A
   * rejection stops the program once those issued together have ended, and is what `run` rejects with.
   */
  readonly call: (call: BoxCall) => Promise<BoxAnswer>
}

export interface ProgramLimits {
  /** The program's own time: that of its calls is not counted. */
  readonly timeMs: number
  readonly memoryMb: number
  readonly stackKb: number
  /** Characters of its value as JSON, and of all arguments together of calls that it does not wait for. */
  readonly outputChars: number
  /** Characters of all arguments together of calls that it waits for: a host may keep them. */
  readonly argumentChars: number
  /** Calls of functions. */
  readonly calls: number
}

export const usualLimits: ProgramLimits = {
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
  /** Where, counted from 1, in the program without its fence. */
  readonly line?: number
  readonly column?: number
  readonly limit?: LimitName
}

/** How a program ended. The value is plain JSON: undefined is null, and what JSON lacks is described. */
export type ProgramEnd = { readonly kind: 'value'; readonly value: Json } | ProgramError

/** The error of a program that has met a limit. */
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
      return `the program calls itself too deeply, or nests too deeply (${stackKb} KB of stack)`
    case 'output':
      return `the program gives out more than ${outputChars} characters`
    case 'arguments':
      return `the program passes more than ${argumentChars} characters to the functions that it calls`
    case 'calls':
      return `the program makes more than ${calls} calls`
  }
}
