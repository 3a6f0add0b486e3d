import { type GitCommand, gitFailed, gitFailure, runGit } from '../../base/git.ts'
import type { ProcessResult } from '../../base/process.ts'

/** Where git is called, and with what. */
export interface GitPlace extends Pick<GitCommand, 'cwd' | 'env'> {
  /** More settings, such as those that turn off the programs that a repository names. */
  readonly settings?: NonNullable<GitCommand['settings']>
  readonly indexFile?: string
}

const timeLimitMs = 30 * 60_000
const maxOutputBytes = 256 * 1024 * 1024

/** Calls git, whatever it ends with; see `runGit` for what it does not start. */
export function attemptGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<ProcessResult> {
  return runGit({ ...place, args, timeLimitMs, maxOutputBytes }, signal)
}

/** What git prints. @throws Error when it fails */
export async function printedByGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<string> {
  const result = await attemptGit(place, args, signal)
  if (!gitFailed(result) && result.stdout.lost === 0) return result.stdout.text
  const command = args.find((word) => !word.startsWith('-')) ?? ''
  throw new Error(`git ${command}: ${gitFailed(result) ? gitFailure(result) : 'it printed too much'}`)
}

/** Parts of a list that git ended with NUL each. */
export function partsOf(list: string): readonly string[] {
  return list.split('\0').filter((one) => one !== '')
}
