import { type GitCommand, gitFailed, gitFailure, runGit } from '../../base/git.ts'
import type { ProcessResult } from '../../base/process.ts'

/** Where git is called, and with which settings. */
export interface GitPlace extends Pick<GitCommand, 'cwd' | 'env'> {
  /** Additional settings, such as those that disable programs named by a repository. */
  readonly settings?: NonNullable<GitCommand['settings']>
  readonly indexFile?: string
}

const timeLimitMs = 30 * 60_000
const maxOutputBytes = 256 * 1024 * 1024

/** Runs git and returns its result, even if it fails; see `runGit` for the programs it prevents git from starting. */
export function attemptGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<ProcessResult> {
  return runGit({ ...place, args, timeLimitMs, maxOutputBytes }, signal)
}

/** The output of git. @throws Error if it fails */
export async function printedByGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<string> {
  const result = await attemptGit(place, args, signal)
  if (!gitFailed(result) && result.stdout.lost === 0) return result.stdout.text
  const command = args.find((word) => !word.startsWith('-')) ?? ''
  throw new Error(`git ${command}: ${gitFailed(result) ? gitFailure(result) : 'it printed too much'}`)
}

/** The items of a NUL-terminated list from git. */
export function partsOf(list: string): readonly string[] {
  return list.split('\0').filter((one) => one !== '')
}
