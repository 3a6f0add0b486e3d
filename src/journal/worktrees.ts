import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writeFileAtomic } from '../base/files.ts'
import { runWithId } from './find-run.ts'
import { readRunState } from './run-state.ts'
import { summaryIn } from './index-file.ts'

/** The folder (absolute) for the git worktrees of a run, each named by the place that it is for. */
export function worktreesFolder(run: string): string {
  return join(run, 'worktrees')
}

/** What the names of all worktrees of a run start with; a worktree is also known by its name in its repository. */
export function worktreePrefix(id: string): string {
  return `${id.slice(-9)}-`
}

/** Whether a run has ended so that it cannot be resumed: it needs no worktrees. */
export async function hasEnded(run: string): Promise<boolean> {
  const { end } = (await readRunState(run)) ?? {}
  if (end === undefined) return false
  return end.stop === 'done' || end.stop === 'skipped' || summaryIn(run)?.resumable === false
}

/** The ids of runs that have worktrees, one per line, beside the runs: each run reads only this, however many there are. */
const listName = 'worktrees.txt'

/** Notes a run that is about to create worktrees. A run that is not in the list removes its own, or they are removed with it. */
export function noteWorktrees(run: string): void {
  try {
    appendFileSync(join(dirname(run), listName), `${basename(run)}\n`, { mode: 0o600 })
  } catch {
    // creating the worktree reports what is wrong
  }
}

/**
 * Removes the worktrees of listed runs in this folder (absolute) that have ended: they were killed before they did it.
 * Never rejects: what cannot be removed is removed with its run.
 */
export async function removeEndedWorktrees(runs: string, workspace: string): Promise<void> {
  const list = join(runs, listName)
  if (!existsSync(list)) return
  try {
    const listed = new Set(readFileSync(list, 'utf8').split('\n').filter(Boolean))
    const kept = new Set(listed)
    for (const id of listed) {
      const run = runWithId(runs, id)
      if (run !== undefined && !(await hasEnded(run))) continue
      if (run !== undefined) await removeRunWorktrees(run, workspace)
      kept.delete(id)
    }
    if (kept.size === 0) rmSync(list)
    else if (kept.size < listed.size) writeFileAtomic(list, [...kept].map((id) => `${id}\n`).join(''))
  } catch {
    // next time
  }
}

/**
 * Removes the worktrees of a run, and their entries in their repositories. Without `workspace` (absolute) the repository
 * is not searched for entries of worktrees that are gone. Rejects with the system error.
 */
export async function removeRunWorktrees(run: string, workspace?: string): Promise<void> {
  const folder = worktreesFolder(run)
  if (!existsSync(folder)) return
  // not loaded for runs without worktrees
  const { removeWorktrees } = await import('../base/git-worktree.ts')
  const of = worktreePrefix(basename(run))
  removeWorktrees(folder, { of, ...(workspace === undefined ? {} : { workspace }) })
}
