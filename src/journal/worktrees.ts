import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The folder (absolute) for the git worktrees of a run, each named by the place that it is for. */
export function worktreesFolder(run: string): string {
  return join(run, 'worktrees')
}

/** What the names of all worktrees of a run start with; a worktree is also known by its name in its repository. */
export function worktreePrefix(id: string): string {
  return `${id.slice(-9)}-`
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
