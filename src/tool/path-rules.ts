import { type Dirent, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import type { RunFolders } from '../event/context.ts'
import type { Action, Protection } from '../event/permission.ts'

/** Something that is done to a path. */
export type PathAction = Extract<Action, { readonly path: string }>

/** Why an action is refused; undefined: it is allowed. */
export type PathRule = (action: PathAction) => string | undefined

/**
 * What scripts of an author may do with files: read whatever their user may, since running an agent is consent to it;
 * write in the workspace and in `~/.aipack-base`, there neither packs nor config, which decide what runs; delete in the
 * workspace alone. Never in `.git`, never the workspace itself.
 */
export function workspaceRule({ workspace, aipackBase }: Pick<RunFolders, 'workspace' | 'aipackBase'>): PathRule {
  const root = realPath(workspace)
  const base = aipackBase === undefined ? undefined : realPath(aipackBase)

  function change(path: string): string | undefined {
    if (!isInside(root, path)) return `${path} is outside the workspace ${root}`
    if (path === root) return `${path} is the workspace itself`
    if (isGit(relative(root, path))) return `${displayPath(root, path)} belongs to git, and agents never change it`
    return undefined
  }

  return ({ kind, path }) => {
    switch (kind) {
      case 'read':
        return undefined
      case 'write':
        if (base === undefined || !isInside(base, path)) return change(path)
        if (mayKeepIn(base, path)) return undefined
        return `${path} decides what AIPack and Baton run, and agents never change it`
      case 'delete':
        if (base !== undefined && (isInside(base, path) || isInside(path, base))) return `nothing is deleted in ${base}`
        return change(path)
    }
  }
}

/** What decides which programs run and with which rights, in whatever folder it is. */
export const protectedNames: readonly string[] = ['.baton', '.aipack', 'baton.toml', '.mcp.json']

/**
 * Refuses changes of protected files and folders: those with one of the names, at any depth and in any case, what those
 * of the workspace link to, and the paths. Folders that hold any of it, or a repository, are not deleted either.
 */
export function protectionRule({ paths, names, whom }: Protection, workspace: string): PathRule {
  const root = realPath(workspace)
  const known = new Set(names)
  const kept = [...paths, ...names.map((name) => join(root, name))].map(realPath)
  const keptBelow = new Set([...names, gitName])
  return ({ kind, path }) => {
    if (kind === 'read') return undefined
    const held =
      protectedAbove(root, path, known) ??
      kept.find((file) => isInside(file, path) || (kind === 'delete' && isInside(path, file))) ??
      (kind === 'delete' ? protectedBelow(path, keptBelow) : undefined)
    return held === undefined ? undefined : `${displayPath(root, held)} is protected: ${whom} never changes it`
  }
}

/** Below AIPack's folder, but neither a pack nor one of the files at its top, which configure it. */
function mayKeepIn(base: string, path: string): boolean {
  const [first = '', ...rest] = relative(base, path).split(sep)
  return first !== 'pack' && (rest.length > 0 || !/^(?:config.*\.toml|version\.txt|)$/.test(first))
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

/** Empty for what is no folder, and for one that may not be read: what is in it cannot be deleted either. */
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
