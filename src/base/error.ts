import { constants } from 'node:os'
import { cutText } from './cut-text.ts'

/**
 * Stable codes of every error the product raises on purpose, with the exit code of a run that ends with it. Part of the
 * public contract; messages are not.
 */
export const exitCodes = {
  USAGE: 2,
  PROMPT_SYNTAX: 2,
  CONFIG_INVALID: 2,
  NOT_AVAILABLE: 2,
  FILE_UNREADABLE: 2,
  OUTSIDE_WORKSPACE: 2,
  AGENT_NOT_FOUND: 2,
  AGENT_AMBIGUOUS: 2,
  AGENT_CYCLE: 2,
  FILE_FAILED: 1,
  AGENT_FAILED: 1,
  SCRIPT_FAILED: 1,
  TASK_FAILED: 1,
  MODEL_FAILED: 1,
  MCP_FAILED: 1,
  CHANGES_FAILED: 1,
  GATE_FAILED: 1,
  JOURNAL_FAILED: 1,
  KEY_MISSING: 3,
  KEY_REFUSED: 3,
  LIMIT: 4,
  BUDGET: 4,
  RUN_TOO_LARGE: 4,
  NEEDS_INPUT: 5,
  SUSPENDED: 5,
  WAITING_FOR_APPROVAL: 5,
  DIVERGED: 5,
  UNCERTAIN: 5,
  UNTRUSTED: 6,
  SANDBOX: 6,
  UNTIL_NOT_MET: 7,
  ABORTED: 130,
} as const

export type ErrorCode = keyof typeof exitCodes

/**
 * What happened, more exactly than the code of an error says it, where programs may have to tell it apart.
 * As stable as codes.
 */
export const errorReasons = [
  'AGENT_SPAWN_FAILED',
  'AGENT_CRASHED',
  'AGENT_TIMEOUT',
  'INSUFFICIENT_AGENTS',
  'TOOL_NOT_FOUND',
  'CONTEXT_EXCEEDED',
  'EMPTY_ANSWER',
  'INVALID_ANSWER',
  'PARTIAL_RESULT',
] as const

export type ErrorReason = (typeof errorReasons)[number]

/**
 * A position in a file the user wrote. Lines and columns count from 1; `endColumn` is the column after the last
 * character. `text` is the whole file, for the code frame.
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
  readonly reason?: ErrorReason | undefined
  /** What to do about it: one sentence, shown on its own line. */
  readonly hint?: string | undefined
  readonly place?: SourcePlace | undefined
  /** The lines that led to `place`, innermost first: those of the calling scripts, up to the prompt file. */
  readonly trail?: readonly SourcePlace[]
  /** The difference from the expected text, as a unified diff. */
  readonly diff?: string | undefined
  /** The exhausted limit of the whole run, such as `budget.calls`; not a limit of a part of the run. */
  readonly limit?: string | undefined
  /** Not handled by anyone, whatever its code, because only a resumed run can get further. */
  readonly endsRun?: boolean
  readonly cause?: unknown
}

const marker = Symbol.for('baton.error')

/** Most characters of a message: it may repeat what a model, a file, a program or a server has sent. */
const longestMessage = 2000

/** The text of an error, cut at 2,000 characters, with what says how many are left out. */
export function cutMessage(text: string): string {
  return text.length <= longestMessage ? text : cutText(text, longestMessage - 40)
}

/** The one error class. The edge (cli/) turns it into a message, a code frame, a hint and an exit code. */
export class BatonError extends Error {
  override readonly name = 'BatonError'
  readonly [marker] = true
  readonly code: ErrorCode
  readonly reason: ErrorReason | undefined
  readonly hint: string | undefined
  readonly place: SourcePlace | undefined
  readonly trail: readonly SourcePlace[]
  readonly diff: string | undefined
  readonly limit: string | undefined
  readonly endsRun: boolean

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { reason, hint, place, trail = [], diff, limit, endsRun = false, cause } = details
    super(cutMessage(message), cause === undefined ? undefined : { cause })
    this.code = code
    this.reason = reason
    this.hint = hint === undefined ? undefined : cutMessage(hint)
    this.place = place && { ...place, file: cutMessage(place.file) }
    this.trail = trail
    this.diff = diff
    this.limit = limit
    this.endsRun = endsRun
  }
}

/** Also true for errors of a second loaded copy of this package. */
export function isBatonError(value: unknown): value is BatonError {
  return typeof value === 'object' && value !== null && marker in value
}

/** Whether an error ends the run even where errors are handled: continuing would make the record wrong. */
export function stopsRun(error: unknown): boolean {
  return (
    isBatonError(error) &&
    (isSuspension(error) ||
      error.endsRun ||
      ['JOURNAL_FAILED', 'RUN_TOO_LARGE', 'DIVERGED', 'UNCERTAIN'].includes(error.code))
  )
}

/** Whether the run's record is full: work in flight is already paid for, so it finishes first and is still recorded. */
export function isRunTooLarge(error: unknown): boolean {
  return isBatonError(error) && error.code === 'RUN_TOO_LARGE'
}

/** The exhausted limit of the whole run, also if another error was caused by it. Undefined for all other errors. */
export function limitOfRun(error: unknown): string | undefined {
  return isBatonError(error) ? (error.limit ?? limitOfRun(error.cause)) : undefined
}

/** Whether work waits for a person or another day: it has neither finished nor failed, and can be resumed. */
export function isSuspension(error: unknown): boolean {
  return isBatonError(error) && (error.code === 'SUSPENDED' || error.code === 'WAITING_FOR_APPROVAL')
}

/** Whether work waits for a person to answer an approval question. */
export function isWaitingForApproval(error: unknown): boolean {
  return isBatonError(error) && error.code === 'WAITING_FOR_APPROVAL'
}

/**
 * The same error for a caller: omitted fields are kept, and the error itself becomes the cause. `from` is the line that
 * led to it; it becomes the place of an error without one.
 */
export function rewordError(
  error: BatonError,
  {
    code = error.code,
    message = error.message,
    hint = error.hint,
    place = error.place,
    endsRun = error.endsRun,
    from,
  }: ReworkedError,
): BatonError {
  const shown = place ?? from
  return new BatonError(code, message, {
    cause: error,
    reason: error.reason,
    trail: from === undefined || shown === from ? error.trail : [...error.trail, from],
    hint,
    diff: error.diff,
    limit: error.limit,
    endsRun,
    place: shown,
  })
}

interface ReworkedError {
  readonly code?: ErrorCode
  readonly message?: string
  readonly hint?: string | undefined
  readonly place?: SourcePlace | undefined
  readonly endsRun?: boolean
  readonly from?: SourcePlace | undefined
}

/** The text of anything that can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? withSystemNames(error.message) : String(error)
}

/** True for the errors of `node:fs` and friends with this `code`, for example `ENOENT`. */
export function hasSystemCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(withSystemNames(String(error.code)))
}

/**
 * Node has only a number for some errors: `Unknown system error -122: Unknown system error -122, write` is `EDQUOT,
 * write`.
 */
function withSystemNames(text: string): string {
  return text.replaceAll(/(Unknown system error -(\d+))(?:: \1)?/g, (whole, _, number: string) => {
    return Object.entries(constants.errno).find(([, value]) => value === Number(number))?.[0] ?? whole
  })
}

/** A run was stopped from outside. The exit code is 128 plus the number of the signal. */
export class StopSignal extends Error {
  override readonly name: string = 'StopSignal'
  readonly exitCode: number

  constructor(signal: string, exitCode: number) {
    super(`stopped by ${signal}`)
    this.exitCode = exitCode
  }
}

/** What a person is told about it: who pressed Ctrl-C knows by which signal it was stopped. */
export function stopText({ exitCode, message }: StopSignal): string {
  return exitCode === 130 ? 'stopped' : message
}

/** Exit code of a command whose output pipe was closed: 128 plus SIGPIPE. */
export const closedPipe = 141

/**
 * A command cannot write its result: the pipe was closed (exit code 141) or the disk is full (1). Reported once, by the
 * edge, whatever the command does with it.
 */
export class OutputLost extends StopSignal {
  override readonly name: string = 'OutputLost'

  constructor(error: Error) {
    const isClosed = 'code' in error && closedCodes.has(error.code)
    super(isClosed ? 'a closed pipe' : `an error writing to stdout: ${error.message}`, isClosed ? closedPipe : 1)
    this.cause = error
  }
}

const closedCodes: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET'])
