import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder (absolute) for the git worktrees of a run, each named by the place that it is for. */
export function worktreesFolder(run: string): string {
  return join(run, 'worktrees')
}

/** Removes the worktrees of a run, and their entries in their repositories. Rejects with the system error. */
export async function removeRunWorktrees(run: string): Promise<void> {
  const folder = worktreesFolder(run)
  if (!existsSync(folder)) return
  // not loaded for runs without worktrees
  const { removeWorktrees } = await import('../base/git-worktree.ts')
  removeWorktrees(folder)
}
