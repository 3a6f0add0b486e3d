import type { BoxFunction, Program, ProgramError, ProgramLimits } from './program.ts'

/** What determines a program's behavior, besides the answers to its calls. */
export interface Fixed {
  readonly limits: ProgramLimits
  /** Seed of `Math.random`. */
  readonly seed: number
  /** Milliseconds since 1970 that its clock shows. */
  readonly now: number
}

/** From the main thread: the next program. A worker runs one at a time. */
export interface ToWorker extends Fixed {
  readonly program: Program
  readonly functions: readonly BoxFunction[]
}

/** A call that the program waits for: the index of its function in the list, and its arguments as a JSON array. */
export interface FunctionCall {
  readonly target: number
  readonly index: number
  readonly args: string
}

export type FromWorker =
  /** Everything is loaded: from here on it is the program's own time. */
  | { readonly kind: 'begun' }
  /** The worker sleeps until all of them are answered. */
  | { readonly kind: 'ask'; readonly calls: readonly FunctionCall[] }
  | ({ readonly kind: 'tell' } & FunctionCall)
  | { readonly kind: 'done'; readonly end: WorkerEnd }

/** `text` is JSON. */
export type WorkerEnd = { readonly kind: 'value'; readonly text: string } | ProgramError

export type Answer =
  | {
      readonly kind: 'texts'
      /** One per call, in order: `+` and the value as JSON, or `-` and an error message as a JSON string. */
      readonly texts: readonly string[]
      readonly now: number | undefined
    }
  /** The program should end: its result is no longer needed. */
  | { readonly kind: 'stop' }
