import { relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import type { RunFolders } from '../event/context.ts'
import type { Action, NewFileContent } from '../event/permission.ts'
import { isOfSystem } from '../base/system-folders.ts'
import { foldedName } from './protected/names.ts'

/** Something that is done to a path. */
export type PathAction = Extract<Action, { readonly path: string }>

/** Why an action is refused; undefined if it is allowed. */
export type PathRule = (action: PathAction, content?: NewFileContent) => string | undefined

/**
 * What scripts of an author may do with files. Read: whatever their user may, since running an agent is consent to it,
 * except for system paths. Write: in the workspace and in `~/.aipack-base`, except for packs and config there, which
 * decide what runs. Delete: only in the workspace. Never in `.git`, and never the workspace itself.
 */
export function workspaceRule({
  workspace,
  aipackBase,
  closed,
}: Pick<RunFolders, 'workspace' | 'aipackBase' | 'closed'>): PathRule {
  const root = realPath(workspace)
  const base = aipackBase === undefined ? undefined : realPath(aipackBase)

  function change(path: string): string | undefined {
    if (!isInside(root, path)) return `${path} is outside the workspace ${root}`
    if (closed !== undefined) return `${closed}: work in a folder of the project (cd FOLDER, or -C FOLDER)`
    if (path === root) return `${path} is the workspace itself`
    if (isGit(relative(root, path))) return `${displayPath(root, path)} belongs to git, and agents never change it`
    return undefined
  }

  return ({ kind, path }) => {
    switch (kind) {
      case 'read':
        return isOfSystem(path) ? `${path} is a system path, which agents cannot read` : undefined
      case 'write':
        if (base === undefined || !isInside(base, path)) return change(path)
        if (mayKeepIn(base, path)) return undefined
        return `${path} decides what AIPack and Baton run, so agents never change it`
      case 'delete':
        if (base !== undefined && (isInside(base, path) || isInside(path, base)))
          return `nothing can be deleted in ${base}`
        return change(path)
    }
  }
}

/** In AIPack's base folder, but neither a pack nor one of the config files at its top. */
function mayKeepIn(base: string, path: string): boolean {
  const [first = '', ...rest] = relative(base, path).split(sep)
  return first !== 'pack' && (rest.length > 0 || !/^(?:config.*\.toml|version\.txt|)$/.test(first))
}

function isGit(path: string): boolean {
  return path.split(sep).some((step) => foldedName(step) === '.git')
}
