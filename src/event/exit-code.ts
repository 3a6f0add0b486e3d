import { type ErrorCode, exitCodes, isBatonError } from '../base/error.ts'

/** Causes that decide the exit code also when they come up inside an agent. What a script does wrong stays 1. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'AGENT_NOT_FOUND',
  'AGENT_AMBIGUOUS',
  'AGENT_CYCLE',
  'NOT_AVAILABLE',
  'KEY_MISSING',
  'KEY_REFUSED',
  'LIMIT',
  'BUDGET',
  'NEEDS_INPUT',
  'SUSPENDED',
  'UNTRUSTED',
])

/** The exit code of a failed run. An agent or task that failed for a lasting cause exits as that cause. */
export function exitCodeOf(error: unknown): number {
  if (!isBatonError(error)) return 1
  const own = exitCodes[error.code]
  if (own !== 1) return own
  for (let cause = error.cause; isBatonError(cause); cause = cause.cause) {
    if (lasting.has(cause.code)) return exitCodes[cause.code]
  }
  return own
}
