import { relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../base/files.ts'
import type { RunFolders } from '../event/context.ts'
import type { Action, NewFileContent } from '../event/permission.ts'
import { isOfSystem } from '../base/system-folders.ts'
import { foldedName } from './protected/names.ts'

/** Something that is done to a path. */
export type PathAction = Extract<Action, { readonly path: string }>

/** Why an action is refused; undefined: it is allowed. */
export type PathRule = (action: PathAction, content?: NewFileContent) => string | undefined

/**
 * What scripts of an author may do with files: read whatever their user may, since running an agent is consent to it;
 * but for the places of the system; write in the workspace and in `~/.aipack-base`, there neither packs nor config, which decide what runs; delete in the
 * workspace alone. Never in `.git`, never the workspace itself.
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
        return isOfSystem(path) ? `${path} belongs to the system, and nothing there is read` : undefined
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

/** Below AIPack's folder, but neither a pack nor one of the files at its top, which configure it. */
function mayKeepIn(base: string, path: string): boolean {
  const [first = '', ...rest] = relative(base, path).split(sep)
  return first !== 'pack' && (rest.length > 0 || !/^(?:config.*\.toml|version\.txt|)$/.test(first))
}

function isGit(path: string): boolean {
  return path.split(sep).some((step) => foldedName(step) === '.git')
}
