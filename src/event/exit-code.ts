import { type ErrorCode, exitCodes, isBatonError } from '../base/error.ts'

/**
 * The meaning of each exit code of the command. Codes from 128 are 128 plus the number of a signal. Help, the
 * description of events and the documents are generated from this table, or compared with it.
 */
export const exitMeanings: Readonly<Record<number, string>> = {
  0: 'success, or skipped: there was nothing to do',
  1: 'the work failed',
  2: 'invalid input',
  3: 'a key is missing or was refused',
  4: 'a limit was reached',
  5: 'a decision or input from the user is needed',
  6: 'a file is not trusted with its settings, or no sandbox is available',
  7: 'the iterate condition was never met',
  13: 'the command ended before its work was finished',
  100: 'a test of baton test failed',
  129: 'stopped by SIGHUP',
  130: 'stopped by Ctrl-C',
  141: 'the reader of stdout closed it',
  143: 'stopped by SIGTERM',
}

/** Codes of the command that no run ends with. */
const ofCommands: ReadonlySet<number> = new Set([13, 100])

/** The exit codes of runs and their meanings, on one line. */
export function exitCodesText(which: 'all' | 'of failed runs'): string {
  return Object.entries(exitMeanings)
    .filter(([code]) => which === 'all' || (code !== '0' && !ofCommands.has(Number(code))))
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(', ')
}

/** Causes that determine the exit code even inside an agent. Errors of a script itself remain 1. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'AGENT_NOT_FOUND',
  'AGENT_AMBIGUOUS',
  'AGENT_CYCLE',
  'NOT_AVAILABLE',
  'KEY_MISSING',
  'KEY_REFUSED',
  'LIMIT',
  'BUDGET',
  'RUN_TOO_LARGE',
  'NEEDS_INPUT',
  'SUSPENDED',
  'WAITING_FOR_APPROVAL',
  'UNTRUSTED',
  'SANDBOX',
])

/** The exit code of a failed run. If an agent or task failed for a lasting cause, that cause determines the code. */
export function exitCodeOf(error: unknown): number {
  if (!isBatonError(error)) return 1
  const own = exitCodes[error.code]
  if (own !== 1) return own
  for (let cause = error.cause; isBatonError(cause); cause = cause.cause) {
    if (lasting.has(cause.code)) return exitCodes[cause.code]
  }
  return own
}
