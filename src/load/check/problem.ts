import { BatonError, cutMessage, type SourcePlace } from '../../base/error.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { type Issue, issuesOf } from '../../settings/issue.ts'

/** One line of the output of `baton check`. */
export interface Problem {
  readonly severity: 'error' | 'warning'
  /** An error code, or a separate kind for what only a check finds. */
  readonly code: string
  readonly message: string
  /** May be empty. */
  readonly hint: string
  readonly place: SourcePlace
  /** The lines that led there, innermost first. */
  readonly trail: readonly SourcePlace[]
}

export interface ProblemOptions {
  readonly severity: Problem['severity']
  /** The file to name if an issue has no place. */
  readonly file: string
  readonly trail: readonly SourcePlace[]
}

export function problemOf({ code, message, hint, place }: Issue, { severity, file, trail }: ProblemOptions): Problem {
  return { severity, code, message: cutMessage(message), hint: cutMessage(hint), place: place ?? { file }, trail }
}

/**
 * All issues of an error, as problems.
 * @throws anything that is not a BatonError
 */
export function problemsOfError(error: unknown, { file, trail }: Omit<ProblemOptions, 'severity'>): readonly Problem[] {
  if (!(error instanceof BatonError)) throw error
  const options = { severity: 'error', file, trail: [...error.trail, ...trail] } as const
  return issuesOf(error).map((issue) => problemOf(issue, options))
}

/** The identity of a problem: message and place, regardless of severity. */
export function problemKey({ code, message, place: { file, line = 0, column = 0 } }: Problem): string {
  return JSON.stringify([code, message, file, line, column])
}

/**
 * Deduplicates problems, as an error if it is one anywhere; those of `first` before those of other files, and within a
 * file in line order.
 */
export function sortProblems(problems: readonly Problem[], first: string): readonly Problem[] {
  const known = new Map<string, Problem>()
  for (const problem of problems) {
    const key = problemKey(problem)
    const other = known.get(key)
    if (other === undefined || (other.severity === 'warning' && problem.severity === 'error')) known.set(key, problem)
  }
  return [...known.values()].toSorted(({ place: left }, { place: right }) => {
    if (left.file === right.file) {
      return (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0)
    }
    if (left.file === first || right.file === first) return left.file === first ? -1 : 1
    return compareBytes(left.file, right.file)
  })
}
