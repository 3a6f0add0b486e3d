import { type Dirent, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import type { Action, Policy, Verdict } from '../event/policy.ts'

export interface PathPolicyOptions {
  /** Absolute path of the workspace folder. */
  readonly workspace: string
  /** `~/.aipack-base`: scripts may keep files there, as in AIPack (spec/aipack.md 3.6). It need not exist. */
  readonly aipackBase?: string
}

/**
 * What scripts of an author may do with files (DESIGN 3, 9): read whatever their user may, since running an agent is
 * consent to it; write in the workspace and in `~/.aipack-base`, there neither packs nor config, which decide what runs;
 * delete in the workspace alone. Never in `.git`, never the workspace itself. Paths are compared as they are given:
 * callers resolve links first.
 */
export function createPathPolicy({ workspace, aipackBase }: PathPolicyOptions): Policy {
  const root = realPath(workspace)
  const base = aipackBase === undefined ? undefined : realPath(aipackBase)

  function checkWrite(path: string): Verdict {
    if (base === undefined || !isInside(base, path)) return checkChange(path)
    if (mayKeepIn(base, path)) return { kind: 'allow' }
    return deny(`${path} decides what AIPack and Baton run, and agents never change it`)
  }

  function checkChange(path: string): Verdict {
    if (!isInside(root, path)) return outside(path, root)
    if (path === root) return deny(`${path} is the workspace itself`)
    if (isGit(relative(root, path)))
      return deny(`${displayPath(root, path)} belongs to git, and agents never change it`)
    return { kind: 'allow' }
  }

  return {
    check({ kind, path }: Action): Verdict {
      switch (kind) {
        case 'read':
          return { kind: 'allow' }
        case 'write':
          return checkWrite(path)
        case 'delete': {
          if (base !== undefined && (isInside(base, path) || isInside(path, base))) {
            return deny(`nothing is deleted in ${base}`)
          }
          return checkChange(path)
        }
      }
    },
  }
}

/** What says which programs run, and with which rights, in whatever folder it lies. */
const protectedNames: ReadonlySet<string> = new Set(['.baton', '.aipack', 'baton.toml', '.mcp.json'])

/**
 * The policy for changes that a model chooses (DESIGN 9 "Sandbox"): what says what runs, and with which rights, it never
 * writes or deletes. That are the files and folders with protected names, at any depth and in any case, what those of
 * the workspace link to, and `protectedPaths` (absolute). Folders that hold any of it, or a repository, it never deletes.
 */
export function withProtected(policy: Policy, workspace: string, protectedPaths: readonly string[]): Policy {
  return withKept(policy, workspace, { paths: protectedPaths, names: protectedNames, whom: 'a model' })
}

export interface Protection {
  /** Absolute. */
  readonly paths: readonly string[]
  /** Of files and folders, at any depth; in lower case. */
  readonly names: ReadonlySet<string>
  /** Who is kept from it, for messages. */
  readonly whom: string
}

/** The same for these names and paths. */
export function withKept(policy: Policy, workspace: string, { paths, names, whom }: Protection): Policy {
  const root = realPath(workspace)
  const kept = [...paths, ...[...names].map((name) => join(root, name))].map(realPath)
  const keptBelow = new Set([...names, gitName])
  return {
    check(action) {
      const verdict = policy.check(action)
      if (verdict.kind !== 'allow' || action.kind === 'read') return verdict
      const { path } = action
      const held =
        protectedAbove(root, path, names) ??
        kept.find((file) => isInside(file, path) || (action.kind === 'delete' && isInside(path, file))) ??
        (action.kind === 'delete' ? protectedBelow(path, keptBelow) : undefined)
      return held === undefined ? verdict : deny(`${displayPath(root, held)} is protected: ${whom} never changes it`)
    },
  }
}

/** Below AIPack's folder, but neither a pack nor one of the files at its top, which configure it. */
function mayKeepIn(base: string, path: string): boolean {
  if (!isInside(base, path)) return false
  const [first = '', ...rest] = relative(base, path).split(sep)
  return first !== 'pack' && (rest.length > 0 || !/^(?:config.*\.toml|version\.txt|)$/.test(first))
}

function outside(path: string, root: string): Verdict {
  return deny(`${path} is outside the workspace ${root}`)
}

function deny(reason: string): Verdict {
  return { kind: 'deny', reason }
}

function isGit(path: string): boolean {
  return path.split(sep).some((step) => folded(step) === gitName)
}

const gitName = '.git'

/** The path itself or the folder on the way to it that has a protected name. */
function protectedAbove(root: string, path: string, names: ReadonlySet<string>): string | undefined {
  const steps = relative(root, path).split(sep)
  const found = steps.findIndex((step) => names.has(folded(step)))
  return found === -1 ? undefined : join(root, ...steps.slice(0, found + 1))
}

/** What has a protected name in a folder, at any depth; links in it are not followed. */
function protectedBelow(folder: string, names: ReadonlySet<string>): string | undefined {
  const entries = entriesOf(folder)
  const named = entries.find(({ name }) => names.has(folded(name)))
  if (named !== undefined) return join(folder, named.name)
  for (const entry of entries) {
    const found = entry.isDirectory() ? protectedBelow(join(folder, entry.name), names) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Nothing of what is no folder, and of one that may not be read: what is in it cannot be deleted either. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Some file systems do not tell `.GIT` from `.git`. */
function folded(name: string): string {
  return name.toLowerCase()
}
