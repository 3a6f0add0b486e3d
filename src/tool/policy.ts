import { relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import type { Action, Policy, Verdict } from '../event/policy.ts'

export interface PathPolicyOptions {
  /** Absolute path of the workspace folder. */
  readonly workspace: string
  /** Further folders that may be read: those of the agent, the prompt and the agents that come with the product. */
  readonly readable: readonly string[]
  /** Files and folders inside the workspace that are never written or deleted. */
  readonly protectedPaths?: readonly string[]
}

/**
 * What scripts of an author may do with files (DESIGN 9): read in the workspace and the readable folders, write and
 * delete in the workspace alone, never in `.git`, never the workspace itself. Paths are compared as they are given:
 * callers resolve links first.
 */
export function createPathPolicy({ workspace, readable, protectedPaths = [] }: PathPolicyOptions): Policy {
  const root = realPath(workspace)
  const folders = [root, ...readable.map(realPath)]
  const kept = protectedPaths.map(realPath)

  function checkChange(path: string): Verdict {
    if (!isInside(root, path)) return outside(path, root)
    if (path === root) return deny(`${path} is the workspace itself`)
    if (isGit(relative(root, path)))
      return deny(`${displayPath(root, path)} belongs to git, and agents never change it`)
    if (kept.some((held) => isInside(held, path))) return deny(`${displayPath(root, path)} is protected`)
    return { kind: 'allow' }
  }

  return {
    check({ kind, path }: Action): Verdict {
      switch (kind) {
        case 'read':
          return folders.some((folder) => isInside(folder, path)) ? { kind: 'allow' } : outside(path, root)
        case 'write':
          return checkChange(path)
        case 'delete': {
          const held = kept.find((file) => isInside(path, file))
          const verdict = checkChange(path)
          if (verdict.kind === 'deny' || held === undefined) return verdict
          return deny(`${displayPath(root, path)} holds ${displayPath(root, held)}, which is protected`)
        }
      }
    },
  }
}

function outside(path: string, root: string): Verdict {
  return deny(`${path} is outside the workspace ${root}`)
}

function deny(reason: string): Verdict {
  return { kind: 'deny', reason }
}

/** Some file systems do not tell `.GIT` from `.git`. */
function isGit(path: string): boolean {
  return path.split(sep).some((step) => step.toLowerCase() === '.git')
}
