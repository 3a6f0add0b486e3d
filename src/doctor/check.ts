import { messageOf } from '../base/error.ts'
import { issuesOf } from '../settings/issue.ts'

/** The state of a part: `note` is information, `warn` works with limitations, `fail` is broken. */
export type Status = 'ok' | 'note' | 'warn' | 'fail'

/** One line of `baton doctor`. */
export interface Check {
  readonly name: string
  readonly status: Status
  readonly message: string
  readonly hint?: string
}

/** The input of the examination. Nothing else of the process is read. */
export interface DoctorInput {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** `-c key=value`. */
  readonly overrides: readonly string[]
  readonly signal: AbortSignal
  readonly root: string
  readonly version: string
  readonly node: { readonly version: string; readonly platform: string; readonly arch: string }
  readonly terminal: { readonly out: boolean; readonly err: boolean; readonly columns: number }
}

export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message }
}

export function note(name: string, message: string, hint?: string): Check {
  return { name, status: 'note', message, ...(hint === undefined ? {} : { hint }) }
}

export function warn(name: string, message: string, hint: string): Check {
  return { name, status: 'warn', message, hint }
}

export function fail(name: string, message: string, hint: string): Check {
  return { name, status: 'fail', message, hint }
}

/** An error as checks, one for each issue behind it. */
export function checksOf(name: string, error: unknown, status: Status = 'fail'): readonly Check[] {
  const issues = issuesOf(error)
  if (issues.length === 0) return [{ name, status, message: messageOf(error) }]
  return issues.map(({ message, hint, place }) => {
    const where = place?.line === undefined ? '' : `${place.file}:${place.line}: `
    return { name, status, message: `${where}${message}`, ...(hint === '' ? {} : { hint }) }
  })
}
