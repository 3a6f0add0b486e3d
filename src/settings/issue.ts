import { type DataPath, type DataText, quotedPath } from '../base/data-text.ts'
import { BatonError, cutMessage, type ErrorCode, isBatonError, type SourcePlace } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'

/** A problem with a value, before its position in the file is known. */
export interface Finding {
  readonly code: ErrorCode
  readonly message: string
  readonly hint: string
  readonly path: DataPath
  /** What the code frame points at. */
  readonly part: 'key' | 'value'
  /** The line may contain a key or a secret: it is named but never shown. */
  readonly isSecret?: true
}

/** A finding with its place: one line of `baton check`, or the data of one error. */
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

/** Requirements for the value of each key; `expected` completes the sentence `"key" must be …`. */
export interface Rules {
  readonly [key: string]: { readonly expected: string; readonly fits: (value: Json) => boolean }
}

type FindingText = Pick<Finding, 'message' | 'hint'>

export function wrongKey(path: DataPath, said: FindingText): Finding {
  return { code: 'CONFIG_INVALID', ...said, path, part: 'key' }
}

export function wrongValue(path: DataPath, said: FindingText): Finding {
  return { code: 'CONFIG_INVALID', ...said, path, part: 'value' }
}

/** The finding for a value that is not as expected. */
export function mismatch(path: DataPath, expected: string, value: Json): Finding {
  const message = `${quotedPath(path)} must be ${expected}, not ${describeValue(value)}`
  return wrongValue(path, { message, hint: `Write ${correction(path, expected, value)}.` })
}

/** What to write instead: the value as it was meant where that is certain, in a form that is TOML and YAML. */
function correction(path: DataPath, expected: string, value: Json): string {
  if (typeof value === 'string') {
    if (/^a list of (?!tables\b)/.test(expected) && value !== '') return `${JSON.stringify([value])}: ${expected}`
    const isNumber = /^-?\d+(?:\.\d+)?$/.test(value) && /^a (?:whole )?number/.test(expected)
    const isSwitch = /^(?:true|false)$/.test(value) && expected.startsWith('true')
    if (isNumber || isSwitch) return `${expected}, without quotes`
  }
  if (typeof value === 'number' && expected.startsWith('a duration') && value > 0)
    return `it with its unit: "${value}s"`
  const names = path.map(String)
  if (expected === 'a table' && !isObject(value) && names.every((name) => /^[A-Za-z_][\w-]*$/.test(name)))
    return `[${names.join('.')}] and one key = value on each line below it`
  return expected
}

export function notATable(key: string): Finding {
  const hint = `Write [${key}] and one key = value on each line below it.`
  return wrongValue([key], { message: `"${key}" must be a table`, hint })
}

/** The hint for an unknown word: a similar known word, or `otherwise`. */
export function suggestionHint(word: string, known: readonly string[], otherwise: string): string {
  const similar = nearest(word, known)
  return similar === undefined ? otherwise : `Did you mean "${similar}"?`
}

/** A value in a message: short text verbatim, other values by kind. */
export function describeValue(value: Json | undefined): string {
  if (value === undefined || value === null) return 'empty'
  if (value === '') return 'empty text'
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number') return `the number ${value}`
  if (typeof value === 'boolean') return String(value)
  if (!Array.isArray(value)) return 'a table'
  return value.length === 0 ? 'an empty list' : 'a list'
}

/** Adds the place in the file to each finding, in the order of the lines. */
export async function placeFindings(findings: readonly Finding[], source: Located): Promise<readonly Issue[]> {
  const issues = await Promise.all(findings.map((finding) => placeFinding(finding, source)))
  return issues.toSorted((left, right) => (left.place?.line ?? 0) - (right.place?.line ?? 0))
}

async function placeFinding(finding: Finding, { file, text, locate }: Located): Promise<Issue> {
  const position = await locate(finding.path, finding.part)
  return withPlace(finding, { file, ...(finding.isSecret === true ? {} : { text }), ...position })
}

export function withPlace({ code, message, hint }: Finding, place: SourcePlace | undefined): Issue {
  return { code, message: cutMessage(message), hint: cutMessage(hint), ...(place === undefined ? {} : { place }) }
}

/** The error for one finding in a file. */
export async function errorAt(finding: Finding, source: Located): Promise<BatonError> {
  return issuesToError([await placeFinding(finding, source)])
}

/**
 * A single error for a list of issues: it reports the first, and carries all for `issuesOf`. Missing trust comes first,
 * because until then nothing else in such a file matters.
 */
export function issuesToError(issues: readonly [Issue, ...Issue[]]): BatonError {
  const first = issues.find(({ code }) => code === 'UNTRUSTED') ?? issues[0]
  const { code, message, ...details } = first
  const ordered = [first, ...issues.filter((issue) => issue !== first)]
  return new BatonError(code, message, { ...details, cause: { issues: ordered } })
}

/** An issue in one line, for warnings. */
export function issueText({ message, place }: Issue): string {
  return cutMessage(place?.line === undefined ? message : `${place.file}:${place.line}: ${message}`)
}

/** Throws if there is an issue. */
export function throwIssues(issues: readonly Issue[]): void {
  const [first, ...rest] = issues
  if (first !== undefined) throw issuesToError([first, ...rest])
}

/** All issues behind an error, the reported one first; for other errors just that one. */
export function issuesOf(error: unknown): readonly Issue[] {
  if (!isBatonError(error)) return []
  const { cause, code, message, hint = '', place } = error
  if (isObject(cause) && Array.isArray(cause['issues'])) return cause['issues'] as readonly Issue[]
  // an error that was only reworded for its caller
  if (isBatonError(cause) && cause.message === message && cause.place !== undefined) return issuesOf(cause)
  return [{ code, message, hint, ...(place === undefined ? {} : { place }) }]
}
