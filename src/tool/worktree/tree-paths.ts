import { join, relative, resolve } from 'node:path'
import { displayPath, isInside } from '../../base/files.ts'
import type { RunFolders } from '../../event/context.ts'

/**
 * Where a path (absolute) that names something in the workspace of the run is in the work tree that these folders are of. The
 * path itself in the workspace, and for what lies elsewhere.
 */
export function pathHere({ workspace, standsFor }: Pick<RunFolders, 'workspace' | 'standsFor'>, path: string): string {
  if (isInside(workspace, path)) return path
  const around = standsFor?.find((folder) => isInside(folder, path))
  return around === undefined ? path : join(workspace, relative(around, path))
}

/** The workspace of the run, by which files of the user are named. */
export function ownWorkspace({ workspace, standsFor }: Pick<RunFolders, 'workspace' | 'standsFor'>): string {
  return standsFor?.at(-1) ?? workspace
}

/** How records name a path that is shown from the workspace of these folders: from the workspace of the run. */
export function recordedPath(folders: Pick<RunFolders, 'workspace' | 'standsFor'>, shown: string): string {
  return displayPath(ownWorkspace(folders), resolve(folders.workspace, shown))
}
