import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of a run (absolute) in which its git work trees are, each by the place that it is for. */
export function worktreesFolder(run: string): string {
  return join(run, 'worktrees')
}

/** Removes the work trees of a run, and what their repositories know of them. Rejects with the error of the system. */
export async function removeRunWorktrees(run: string): Promise<void> {
  const folder = worktreesFolder(run)
  if (!existsSync(folder)) return
  // runs without work trees do not load it
  const { removeWorktrees } = await import('../base/git-worktree.ts')
  removeWorktrees(folder)
}
