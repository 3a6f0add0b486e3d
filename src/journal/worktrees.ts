import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { removeWorktrees } from '../base/git-worktree.ts'

/** The folder of a run (absolute) in which its git work trees are, each by the place that it is for. */
export function worktreesFolder(run: string): string {
  return join(run, 'worktrees')
}

/** Removes the work trees of a run, and what their repositories know of them. @throws the error of the system */
export function removeRunWorktrees(run: string): void {
  const folder = worktreesFolder(run)
  if (existsSync(folder)) removeWorktrees(folder)
}
