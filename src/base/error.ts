/** Stable codes of every error the product raises on purpose. Part of the public contract; messages are not. */
export type ErrorCode =
  | 'USAGE'
  | 'PROMPT_SYNTAX'
  | 'CONFIG_INVALID'
  | 'NOT_AVAILABLE'
  | 'FILE_UNREADABLE'
  | 'FILE_FAILED'
  | 'OUTSIDE_WORKSPACE'
  | 'AGENT_NOT_FOUND'
  | 'AGENT_AMBIGUOUS'
  | 'AGENT_CYCLE'
  | 'AGENT_FAILED'
  | 'SCRIPT_FAILED'
  | 'TASK_FAILED'
  | 'MODEL_FAILED'
  | 'CHANGES_FAILED'
  | 'KEY_MISSING'
  | 'KEY_REFUSED'
  | 'LIMIT'
  | 'BUDGET'
  | 'NEEDS_INPUT'
  | 'UNTRUSTED'
  | 'JOURNAL_FAILED'
  | 'DIVERGED'
  | 'UNCERTAIN'
  | 'ABORTED'

/**
 * A position in a file a person wrote. Lines and columns count from 1; `text` is the whole file, for the code frame.
 * Where it is known, `endLine` and `endColumn` say where what is meant ends: the column behind its last character.
 */
export interface SourcePlace {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly endLine?: number
  readonly endColumn?: number
  readonly text?: string
}

export interface ErrorDetails {
  /** What to do about it: one sentence, shown on its own line. */
  readonly hint?: string
  readonly place?: SourcePlace
  /** The lines that led to `place`, innermost first: of the scripts that called it, up to the prompt file. */
  readonly trail?: readonly SourcePlace[]
  /** What differs from what was expected, as a unified diff. */
  readonly diff?: string | undefined
  readonly cause?: unknown
}

const marker = Symbol.for('baton.error')

/** The one error class. The edge (cli/) turns it into a message, a code frame, a hint and an exit code. */
export class BatonError extends Error {
  override readonly name = 'BatonError'
  readonly [marker] = true
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly place: SourcePlace | undefined
  readonly trail: readonly SourcePlace[]
  readonly diff: string | undefined

  constructor(code: ErrorCode, message: string, { hint, place, trail = [], diff, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.hint = hint
    this.place = place
    this.trail = trail
    this.diff = diff
  }
}

/** True also for errors of a second loaded copy of this package. */
export function isBatonError(value: unknown): value is BatonError {
  return typeof value === 'object' && value !== null && marker in value
}

/** Whether an error ends the run whoever could go on after it: what is recorded would not be true any more. */
export function stopsRun(error: unknown): boolean {
  return isBatonError(error) && ['JOURNAL_FAILED', 'DIVERGED', 'UNCERTAIN'].includes(error.code)
}

/**
 * The same error seen from further up: what is not given stays, and the error itself is the cause. `from` is the line
 * that led to it; an error without a place of its own is shown there.
 */
export function rewordError(
  error: BatonError,
  { code = error.code, message = error.message, place = error.place, from }: ReworkedError,
): BatonError {
  const shown = place ?? from
  return new BatonError(code, message, {
    cause: error,
    trail: from === undefined || shown === from ? error.trail : [...error.trail, from],
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.diff === undefined ? {} : { diff: error.diff }),
    ...(shown === undefined ? {} : { place: shown }),
  })
}

interface ReworkedError {
  readonly code?: ErrorCode
  readonly message?: string
  readonly place?: SourcePlace | undefined
  readonly from?: SourcePlace | undefined
}

/** The text of anything that can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** True for the errors of `node:fs` and friends with this `code`, for example `ENOENT`. */
export function hasSystemCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
