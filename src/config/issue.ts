import type { DataPath, DataText } from '../base/data-text.ts'
import { BatonError, isBatonError, type ErrorCode, type SourcePlace } from '../base/error.ts'
import { isObject } from '../base/json.ts'

/** Something wrong with a value, found without knowing where it is written. */
export interface Finding {
  readonly code: ErrorCode
  readonly message: string
  readonly hint: string
  readonly path: DataPath
  /** What the code frame points at. */
  readonly part: 'key' | 'value'
  /** The line may hold a key or a secret: it is named but never shown. */
  readonly isSecret?: true
}

/** A finding with the place it is written at: one line of `baton check`, or the data of one error. */
export interface Issue {
  readonly code: ErrorCode
  readonly message: string
  readonly hint: string
  readonly place?: SourcePlace
}

/** Text with positions: a prompt file's front matter or a config file. */
export interface Located {
  readonly file: string
  readonly text: string
  readonly locate: DataText['locate']
}

/** Gives each finding its place in the file, in the order of the lines. */
export async function placeFindings(findings: readonly Finding[], source: Located): Promise<readonly Issue[]> {
  const issues = await Promise.all(findings.map((finding) => placeFinding(finding, source)))
  return issues.toSorted((left, right) => (left.place?.line ?? 0) - (right.place?.line ?? 0))
}

async function placeFinding(finding: Finding, { file, text, locate }: Located): Promise<Issue> {
  const position = await locate(finding.path, finding.part)
  return withPlace(finding, { file, ...(finding.isSecret === true ? {} : { text }), ...position })
}

export function withPlace({ code, message, hint }: Finding, place: SourcePlace | undefined): Issue {
  return { code, message, hint, ...(place === undefined ? {} : { place }) }
}

/**
 * The one error for a list of issues: it says the first, and carries all for `issuesOf`. What is refused for trust comes
 * first, because nothing else of such a file should be looked at.
 */
export function issuesToError(issues: readonly [Issue, ...Issue[]]): BatonError {
  const first = issues.find(({ code }) => code === 'UNTRUSTED') ?? issues[0]
  const { code, message, ...details } = first
  const ordered = [first, ...issues.filter((issue) => issue !== first)]
  return new BatonError(code, message, { ...details, cause: { issues: ordered } })
}

/** An issue in one line, for warnings. */
export function issueText({ message, place }: Issue): string {
  return place?.line === undefined ? message : `${place.file}:${place.line}: ${message}`
}

/** Throws when there is an issue. */
export function throwIssues(issues: readonly Issue[]): void {
  const [first, ...rest] = issues
  if (first !== undefined) throw issuesToError([first, ...rest])
}

/** All issues behind an error, the one it says first; for errors of other origin that one alone. */
export function issuesOf(error: unknown): readonly Issue[] {
  if (!isBatonError(error)) return []
  const { cause, code, message, hint = '', place } = error
  if (isObject(cause) && Array.isArray(cause['issues'])) return cause['issues'] as readonly Issue[]
  // seen from further up, it is still the same error
  if (isBatonError(cause) && cause.message === message && cause.place !== undefined) return issuesOf(cause)
  return [{ code, message, hint, ...(place === undefined ? {} : { place }) }]
}
