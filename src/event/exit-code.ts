import { type ErrorCode, isBatonError } from '../base/error.ts'

/** Exit codes by what went wrong (DESIGN 12). */
const exitCodes = {
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
  CHANGES_FAILED: 1,
  JOURNAL_FAILED: 1,
  KEY_MISSING: 3,
  KEY_REFUSED: 3,
  LIMIT: 4,
  BUDGET: 4,
  NEEDS_INPUT: 5,
  DIVERGED: 5,
  UNCERTAIN: 5,
  UNTRUSTED: 6,
  ABORTED: 130,
} as const satisfies Record<ErrorCode, number>

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
