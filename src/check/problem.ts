import { BatonError, type SourcePlace } from '../base/error.ts'
import { compareBytes } from '../base/byte-order.ts'
import { type Issue, issuesOf } from '../config/issue.ts'

/** One line of what `baton check` says. */
export interface Problem {
  readonly severity: 'error' | 'warning'
  /** An error code, or for what only a check finds a name of its own kind. */
  readonly code: string
  readonly message: string
  /** Empty: nothing more can be said. */
  readonly hint: string
  readonly place: SourcePlace
  /** The lines that led there, innermost first. */
  readonly trail: readonly SourcePlace[]
}

export interface ProblemOptions {
  readonly severity: Problem['severity']
  /** Named where an issue knows no place. */
  readonly file: string
  readonly trail: readonly SourcePlace[]
}

/** An issue as a problem. */
export function problemOf({ code, message, hint, place }: Issue, { severity, file, trail }: ProblemOptions): Problem {
  return { severity, code, message, hint, place: place ?? { file }, trail }
}

/**
 * All that an error carries as problems.
 * @throws what is no BatonError
 */
export function problemsOfError(error: unknown, { file, trail }: Omit<ProblemOptions, 'severity'>): readonly Problem[] {
  if (!(error instanceof BatonError)) throw error
  const options = { severity: 'error', file, trail: [...error.trail, ...trail] } as const
  return issuesOf(error).map((issue) => problemOf(issue, options))
}

/** What makes two problems one: what is said, and where, whether it is an error or a warning there. */
export function problemKey({ code, message, place: { file, line = 0, column = 0 } }: Problem): string {
  return JSON.stringify([code, message, file, line, column])
}

/** Each problem once, as an error where it is one somewhere; those of `first` before those of other files, and within a file in the order of the lines. */
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
