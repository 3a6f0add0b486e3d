import { existsSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { runIds } from './find-run.ts'
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

/** How many runs are looked at, newest first. */
const mostLookedAt = 200

/**
 * Removes the worktrees of runs in this folder (absolute) that have ended: they were killed before they did it. Never
 * rejects: what cannot be removed is removed with its run.
 */
export async function removeEndedWorktrees(runs: string, workspace: string): Promise<void> {
  try {
    for (const id of runIds(runs).slice(0, mostLookedAt)) {
      // each run does this for all of them, and `join` takes longer than the look
      const run = runs + sep + id
      if (existsSync(`${run}${sep}worktrees`) && (await hasEnded(run))) await removeRunWorktrees(run, workspace)
    }
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
